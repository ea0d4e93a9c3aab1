// With d a tile of x (6 x 6), g a kernel (3 x 3) and s the tile of y (4 x 4), channels left out:
//   forward           s = A^T [(G g G^T) o (B^T d B)] A
//   backward, data    the forward pass of dy with reversed weights
//   backward, weight  dg = G^T [sum over tiles of (A ds A^T) o (B^T d B)] G
// where the sum over channels, or tiles, makes o a product of matrices for each of the 36 places.
// The points of interpolation are 0, +-1/sqrt(2), +-sqrt(2) and infinity: of 256 channels the error
// of one result is at most 9e-6 of their deviation, where 0, +-1, +-2 and infinity have 4e-5.
//
// A group of tile rows goes through three steps, each in pieces of its own: the tiles of each
// channel are transformed; products; the results of each channel are transformed. A group is as
// large as the last-level cache takes it.
#include "backend/cpu/conv/conv_winograd.h"

#include <algorithm>

#include "backend/cpu/conv/conv_source.h"
#include "backend/cpu/pieces.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kOut = 4, kKernel = 3, kIn = 6;  // sides of a tile of y, of g, of x
constexpr std::int64_t kPlaces = kIn * kIn;
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kChannels = 8;  // of a piece of a transform
constexpr std::int64_t kRows = 128;    // of a piece of a product
constexpr float kA = 0.70710678F, kB = 1.41421356F;

// One element of as many tiles as a vector may have lanes.
struct alignas(64) Lanes {
  float at[kLanes];
};

// The matrices as steps along one side of a tile: `from` and `to` have their elements so far apart.
struct InputSide {  // B^T
  static constexpr std::int64_t kFrom = kIn, kTo = kIn;
  static void run(const Lanes* __restrict d, std::int64_t from, Lanes* __restrict v,
                  std::int64_t to) {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const float d0 = d[0].at[i], d1 = d[from].at[i], d2 = d[2 * from].at[i],
                  d3 = d[3 * from].at[i], d4 = d[4 * from].at[i], d5 = d[5 * from].at[i];
      const float even1 = d4 - 2 * d2, odd1 = kA * d3 - kB * d1;
      const float even2 = d4 - 0.5F * d2, odd2 = kB * d3 - kA * d1;
      v[0].at[i] = d0 - 2.5F * d2 + d4;
      v[to].at[i] = even1 + odd1;
      v[2 * to].at[i] = even1 - odd1;
      v[3 * to].at[i] = even2 + odd2;
      v[4 * to].at[i] = even2 - odd2;
      v[5 * to].at[i] = d1 - 2.5F * d3 + d5;
    }
  }
};

struct OutputSide {  // A^T
  static constexpr std::int64_t kFrom = kIn, kTo = kOut;
  static void run(const Lanes* __restrict m, std::int64_t from, Lanes* __restrict y,
                  std::int64_t to) {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const float sum1 = m[from].at[i] + m[2 * from].at[i];
      const float difference1 = m[from].at[i] - m[2 * from].at[i];
      const float sum2 = m[3 * from].at[i] + m[4 * from].at[i];
      const float difference2 = m[3 * from].at[i] - m[4 * from].at[i];
      y[0].at[i] = m[0].at[i] + (sum1 + sum2);
      y[to].at[i] = kA * difference1 + kB * difference2;
      y[2 * to].at[i] = 0.5F * sum1 + 2 * sum2;
      y[3 * to].at[i] = 0.5F * kA * difference1 + 2 * kB * difference2 + m[5 * from].at[i];
    }
  }
};

struct OutputGradientSide {  // A
  static constexpr std::int64_t kFrom = kOut, kTo = kIn;
  static void run(const Lanes* __restrict y, std::int64_t from, Lanes* __restrict m,
                  std::int64_t to) {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const float y0 = y[0].at[i], y1 = y[from].at[i], y2 = y[2 * from].at[i],
                  y3 = y[3 * from].at[i];
      const float even1 = y0 + 0.5F * y2, odd1 = kA * (y1 + 0.5F * y3);
      const float even2 = y0 + 2 * y2, odd2 = kB * (y1 + 2 * y3);
      m[0].at[i] = y0;
      m[to].at[i] = even1 + odd1;
      m[2 * to].at[i] = even1 - odd1;
      m[3 * to].at[i] = even2 + odd2;
      m[4 * to].at[i] = even2 - odd2;
      m[5 * to].at[i] = y3;
    }
  }
};

struct KernelSide {  // G
  static constexpr std::int64_t kFrom = kKernel, kTo = kIn;
  static void run(const Lanes* __restrict g, std::int64_t from, Lanes* __restrict u,
                  std::int64_t to) {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const float g0 = g[0].at[i], g1 = g[from].at[i], g2 = g[2 * from].at[i];
      const float even1 = (-2 * g0 - g2) / 3, odd1 = kB / 3 * g1;
      const float even2 = (0.5F * g0 + g2) / 3, odd2 = kA / 3 * g1;
      u[0].at[i] = g0;
      u[to].at[i] = even1 - odd1;
      u[2 * to].at[i] = even1 + odd1;
      u[3 * to].at[i] = even2 + odd2;
      u[4 * to].at[i] = even2 - odd2;
      u[5 * to].at[i] = g2;
    }
  }
};

struct KernelGradientSide {  // G^T
  static constexpr std::int64_t kFrom = kIn, kTo = kKernel;
  static void run(const Lanes* __restrict u, std::int64_t from, Lanes* __restrict g,
                  std::int64_t to) {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const float sum1 = u[from].at[i] + u[2 * from].at[i];
      const float difference1 = u[2 * from].at[i] - u[from].at[i];
      const float sum2 = u[3 * from].at[i] + u[4 * from].at[i];
      const float difference2 = u[3 * from].at[i] - u[4 * from].at[i];
      g[0].at[i] = u[0].at[i] + (0.5F * sum2 - 2 * sum1) / 3;
      g[to].at[i] = (kB * difference1 + kA * difference2) / 3;
      g[2 * to].at[i] = (sum2 - sum1) / 3 + u[5 * from].at[i];
    }
  }
};

// A matrix from the left, and its transpose from the right.
template <class Side>
void transform(const Lanes* from, Lanes* to) {
  Lanes between[Side::kTo * Side::kFrom];
  for (std::int64_t x = 0; x < Side::kFrom; ++x)
    Side::run(from + x, Side::kFrom, between + x, Side::kFrom);
  for (std::int64_t y = 0; y < Side::kTo; ++y)
    Side::run(between + y * Side::kFrom, 1, to + y * Side::kTo, 1);
}

// Matrices of all places behind each other. The distance between them is no power of two: the 36
// elements of a tile would compete for few lines of the cache.
struct Places {
  Tensor memory;
  std::int64_t rows = 0, columns = 0;

  Places(std::int64_t row_count, std::int64_t column_count, const Tensor& like)
      : memory(scratch<float>(kPlaces * (row_count * column_count + 3 * kLanes), like)),
        rows(row_count),
        columns(column_count) {}
  float* at(std::int64_t place, std::int64_t row) const {
    return memory.data<float>() + place * (rows * columns + 3 * kLanes) + row * columns;
  }
  void put(const Lanes* values, std::int64_t row, std::int64_t column) const {
    for (std::int64_t place = 0; place < kPlaces; ++place)
      std::copy_n(values[place].at, kLanes, at(place, row) + column);
  }
  void take(std::int64_t row, std::int64_t column, Lanes* values) const {
    for (std::int64_t place = 0; place < kPlaces; ++place)
      std::copy_n(at(place, row) + column, kLanes, values[place].at);
  }
};

// Rows of tiles of all items, in groups.
class Tiling {
 public:
  explicit Tiling(const ConvGeometry& g)
      : high_(divide_up(g.out[1], kOut)), wide_(divide_up(g.out[2], kOut)), all_(g.batch * high_) {
    constexpr std::int64_t kElements = 1 << 17;  // of a place, for both operands
    rows_ = std::min(all_, std::max<std::int64_t>(1, kElements / (g.c_in + g.c_out) / wide_));
  }
  std::int64_t groups() const { return divide_up(all_, rows_); }
  std::int64_t wide() const { return wide_; }
  /// Tiles of a group, and zeros that make them whole vectors.
  std::int64_t tiles() const { return divide_up(rows_ * wide_, kLanes) * kLanes; }

  /// Calls visit(item, first row, last row + 1, tile of the group) for the items of a group.
  template <class Visit>
  void for_items(std::int64_t group, const Visit& visit) const {
    const std::int64_t begin = group * rows_, end = std::min(all_, begin + rows_);
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t item = row / high_;
      const std::int64_t next = std::min(end, (item + 1) * high_);
      visit(item, row - item * high_, next - item * high_, (row - begin) * wide_);
      row = next;
    }
  }

 private:
  std::int64_t high_, wide_, all_, rows_ = 1;
};

// Calls visit(i, block, lane, count) for stretches of `count` tiles from tile `first` on, which lie
// in one vector.
template <class Visit>
void for_stretches(std::int64_t first, std::int64_t count, const Visit& visit) {
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t lane = (first + i) % kLanes;
    const std::int64_t n = std::min(count - i, kLanes - lane);
    visit(i, (first + i) / kLanes, lane, n);
    i += n;
  }
}

// How tiles lie on planes: `side` pixels a side, kOut apart, the first one `padding` before the
// plane.
struct TileShape {
  std::int64_t side, padding, height, width;
};

// One thread's memory for the tiles of a channel.
class TileMemory {
 public:
  TileMemory(const Tiling& tiling, const TileShape& shape, bool made, const Tensor& like)
      : tiling_(tiling),
        shape_(shape),
        line_size_(kOut * tiling.wide() + kIn),
        blocks_(tiling.tiles() / kLanes),
        plane_size_(made ? shape.height * shape.width : 0),
        memory_(scratch<float>(size(), like)) {}
  static void reserve_all(const ThreadPool& pool, const Tiling& tiling, const TileShape& shape,
                          bool made, const Tensor& like) {
    std::vector<TileMemory> all;
    for (int i = 0; i < pool.threads(); ++i) all.emplace_back(tiling, shape, made, like);
  }

  /// Transforms the tiles of a channel of a group to rows of places.
  template <class Side>
  void load(const ConvSource<float>& source, std::int64_t group, std::int64_t channel,
            const Places& to) {
    const std::int64_t elements = shape_.side * shape_.side;
    std::fill_n(line(), line_size_, 0.0F);
    // (Behind the last tile of a group there are zeros.)
    std::fill_n(tiles()->at, blocks_ * elements * kLanes, 0.0F);
    tiling_.for_items(
        group, [&](std::int64_t item, std::int64_t begin, std::int64_t end, std::int64_t tile) {
          const std::int64_t first = std::max<std::int64_t>(0, begin * kOut - shape_.padding);
          const std::int64_t last =
              std::min(shape_.height, (end - 1) * kOut - shape_.padding + shape_.side);
          const float* rows = source
                                  .part(item, channel, 1, first * shape_.width,
                                        (last - first) * shape_.width, plane())
                                  .data;
          for (std::int64_t row = begin; row < end; ++row, tile += tiling_.wide())
            load_row(rows, first, row * kOut - shape_.padding, tile);
        });
    Lanes result[kPlaces];
    for (std::int64_t block = 0; block < blocks_; ++block) {
      transform<Side>(tiles() + block * elements, result);
      to.put(result, channel, block * kLanes);
    }
  }

  /// The results of a channel of a group, plus a number, to planes of all items.
  void store(const Places& from, std::int64_t group, std::int64_t channel, std::int64_t channels,
             float bias, float* y) {
    Lanes values[kPlaces];
    for (std::int64_t block = 0; block < blocks_; ++block) {
      from.take(channel, block * kLanes, values);
      transform<OutputSide>(values, tiles() + block * kOut * kOut);
    }
    tiling_.for_items(
        group, [&](std::int64_t item, std::int64_t begin, std::int64_t end, std::int64_t tile) {
          float* plane = y + (item * channels + channel) * shape_.height * shape_.width;
          for (std::int64_t row = begin; row < end; ++row, tile += tiling_.wide())
            store_row(row * kOut, tile, bias, plane);
        });
  }

 private:
  std::int64_t size() const { return blocks_ * kPlaces * kLanes + line_size_ + plane_size_; }
  Lanes* tiles() { return reinterpret_cast<Lanes*>(memory_.data<float>()); }
  float* line() { return memory_.data<float>() + blocks_ * kPlaces * kLanes; }
  float* plane() { return line() + line_size_; }

  // `from`: rows of the plane from `first` on.
  void load_row(const float* from, std::int64_t first, std::int64_t top, std::int64_t tile) {
    const std::int64_t side = shape_.side, padding = shape_.padding;
    const std::int64_t seen = std::min(shape_.width, kOut * tiling_.wide() + side - kOut - padding);
    for (std::int64_t r = 0; r < side; ++r) {
      if (top + r < 0 || top + r >= shape_.height) continue;
      std::copy_n(from + (top + r - first) * shape_.width, seen, line() + padding);
      for_stretches(tile, tiling_.wide(),
                    [&](std::int64_t i, std::int64_t block, std::int64_t lane, std::int64_t n) {
                      for (std::int64_t c = 0; c < side; ++c) {
                        const float* pixels = line() + kOut * i + c;
                        float* to = tiles()[(block * side + r) * side + c].at + lane;
                        for (std::int64_t k = 0; k < n; ++k) to[k] = pixels[kOut * k];
                      }
                    });
    }
  }
  void store_row(std::int64_t top, std::int64_t tile, float bias, float* plane) {
    for (std::int64_t r = 0; r < std::min(kOut, shape_.height - top); ++r) {
      for_stretches(tile, tiling_.wide(),
                    [&](std::int64_t i, std::int64_t block, std::int64_t lane, std::int64_t n) {
                      for (std::int64_t c = 0; c < kOut; ++c) {
                        const float* from = tiles()[(block * kOut + r) * kOut + c].at + lane;
                        float* to = line() + kOut * i + c;
                        for (std::int64_t k = 0; k < n; ++k) to[kOut * k] = from[k] + bias;
                      }
                    });
      std::copy_n(line(), shape_.width, plane + (top + r) * shape_.width);
    }
  }

  const Tiling& tiling_;
  TileShape shape_;
  std::int64_t line_size_, blocks_, plane_size_;
  Tensor memory_;
};

TileShape x_tiles(const ConvGeometry& g) { return {kIn, g.padding[1], g.in[1], g.in[2]}; }
TileShape y_tiles(const ConvGeometry& g) { return {kOut, 0, g.out[1], g.out[2]}; }

// Calls body(channel) for all channels, in pieces; the memory of a piece is made for it.
template <class Memory, class Body>
void for_channels(ThreadPool& pool, std::int64_t channels, const Memory& memory, const Body& body) {
  pool.run(divide_up(channels, kChannels), [&](std::int64_t piece) {
    TileMemory own = memory();
    for (std::int64_t c = piece * kChannels; c < std::min(channels, (piece + 1) * kChannels); ++c)
      body(own, c);
  });
}

// Transforms the tiles of all channels of a group.
template <class Side>
void load_tiles(ThreadPool& pool, const Tiling& tiling, const TileShape& shape,
                const ConvSource<float>& source, std::int64_t group, const Places& to) {
  for_channels(
      pool, to.rows, [&] { return TileMemory(tiling, shape, source.made(), to.memory); },
      [&](TileMemory& memory, std::int64_t c) { memory.load<Side>(source, group, c, to); });
}

// c = a b of all places, or c += a b; with b^T where b has the columns of a.
void multiply_places(ThreadPool& pool, Bits bits, const Places& a, const Places& b, bool transposed,
                     bool accumulate, const Places& c) {
  const std::int64_t blocks = divide_up(c.rows, kRows);
  pool.run(kPlaces * blocks, [&](std::int64_t piece) {
    const std::int64_t place = piece / blocks, first = piece % blocks * kRows;
    multiply<float>(bits, std::min(kRows, c.rows - first), c.columns, a.columns,
                    {a.at(place, first), a.columns}, {b.at(place, 0), b.columns, transposed},
                    accumulate, c.at(place, first), c.columns);
  });
}

// Where the kernel of a row and a column of the matrices lies in the weight.
struct Kernels {
  const float* weight;
  std::int64_t row, column;  // distances
  bool reversed;
};

void load_kernels(ThreadPool& pool, const Kernels& from, const Places& to) {
  constexpr std::int64_t kTaps = kKernel * kKernel;
  pool.run(divide_up(to.rows, kChannels), [&](std::int64_t piece) {
    Lanes kernels[kTaps], result[kPlaces];
    for (std::int64_t r = piece * kChannels; r < std::min(to.rows, (piece + 1) * kChannels); ++r) {
      for (std::int64_t c = 0; c < to.columns; c += kLanes) {
        const float* at = from.weight + r * from.row + c * from.column;
        for (std::int64_t i = 0; i < kLanes; ++i) {
          for (std::int64_t tap = 0; tap < kTaps; ++tap)
            kernels[from.reversed ? kTaps - 1 - tap : tap].at[i] = at[i * from.column + tap];
        }
        transform<KernelSide>(kernels, result);
        to.put(result, r, c);
      }
    }
  });
}

// The convolution of g with these kernels.
void convolve(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Kernels& kernels,
              const float* bias, const Tensor& y) {
  const Tiling tiling(g);
  const Places weight(g.c_out, g.c_in, y);
  const Places in(g.c_in, tiling.tiles(), y), out(g.c_out, tiling.tiles(), y);
  const ConvSource<float> source({.x = x});
  load_kernels(pool, kernels, weight);
  TileMemory::reserve_all(pool, tiling, x_tiles(g), false, y);
  for (std::int64_t group = 0; group < tiling.groups(); ++group) {
    load_tiles<InputSide>(pool, tiling, x_tiles(g), source, group, in);
    multiply_places(pool, g.bits, weight, in, false, false, out);
    for_channels(
        pool, g.c_out, [&] { return TileMemory(tiling, y_tiles(g), false, y); },
        [&](TileMemory& memory, std::int64_t c) {
          memory.store(out, group, c, g.c_out, bias != nullptr ? bias[c] : 0, y.data<float>());
        });
  }
}

}  // namespace

bool winograd_is_fast(const ConvGeometry& g) {
  constexpr std::int64_t kLeastChannels = 128, kLeastTiles = 128, kLeastTilesOfItem = 16;
  const bool fits = g.groups == 1 && g.first_axis() == 1 && g.kernel == Axes{1, kKernel, kKernel} &&
                    g.unit_stride() && product(g.dilation) == 1 && g.padding[1] == g.padding[2] &&
                    g.padding[1] < kKernel;
  const bool whole = g.c_in % kLanes == 0 && g.c_out % kLanes == 0;
  if (!fits || !whole || std::min(g.c_in, g.c_out) < kLeastChannels) return false;
  const std::int64_t tiles = divide_up(g.out[1], kOut) * divide_up(g.out[2], kOut);
  const bool many =
      g.bits == Bits::kOfElement ? tiles >= kLeastTilesOfItem : g.batch * tiles >= kLeastTiles;
  // Maps that fill half of their tiles gain little.
  return many && 2 * tiles * kOut * kOut <= 3 * g.out_size();
}

void winograd_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x,
                      const Tensor& weight, const float* bias, const Tensor& y) {
  convolve(pool, g, x, {weight.data<float>(), g.c_in * g.taps(), g.taps(), false}, bias, y);
}

void winograd_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                            const Tensor& dy, const Tensor& dx) {
  convolve(pool, reversed(g), dy, {weight.data<float>(), g.taps(), g.c_in * g.taps(), true},
           nullptr, dx);
}

void winograd_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                              const Tensor& dy, const Tensor& dweight) {
  constexpr std::int64_t kTaps = kKernel * kKernel;
  const Tiling tiling(g);
  const Places in(g.c_in, tiling.tiles(), dweight), out(g.c_out, tiling.tiles(), dweight);
  const Places sums(g.c_out, g.c_in, dweight);
  const ConvSource<float> inputs(x), gradients({.x = dy});
  TileMemory::reserve_all(pool, tiling, x_tiles(g), inputs.made(), dweight);
  for (std::int64_t group = 0; group < tiling.groups(); ++group) {
    load_tiles<InputSide>(pool, tiling, x_tiles(g), inputs, group, in);
    load_tiles<OutputGradientSide>(pool, tiling, y_tiles(g), gradients, group, out);
    multiply_places(pool, g.bits, out, in, true, group > 0, sums);
  }
  pool.run(divide_up(g.c_out, kChannels), [&](std::int64_t piece) {
    Lanes values[kPlaces], kernels[kTaps];
    for (std::int64_t o = piece * kChannels; o < std::min(g.c_out, (piece + 1) * kChannels); ++o) {
      for (std::int64_t c = 0; c < g.c_in; c += kLanes) {
        sums.take(o, c, values);
        transform<KernelGradientSide>(values, kernels);
        float* to = dweight.data<float>() + (o * g.c_in + c) * kTaps;
        for (std::int64_t i = 0; i < kLanes; ++i) {
          for (std::int64_t tap = 0; tap < kTaps; ++tap) to[i * kTaps + tap] = kernels[tap].at[i];
        }
      }
    }
  });
}

}  // namespace fovea::cpu
