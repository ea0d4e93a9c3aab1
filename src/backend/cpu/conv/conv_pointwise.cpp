// Per item, with x (c_in, pixels) and y (c_out, pixels) as they lie in memory:
//   forward           y = W x
//   backward, data    dx = W^T dy
//   backward, weight  dW = sum over items of dy x^T, in chunks of items
#include "backend/cpu/conv/conv_pointwise.h"

#include <algorithm>

#include "backend/cpu/conv/conv_source.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

using simd::kPackedColumns;
using simd::kPanelDepth;

constexpr std::int64_t kMostPixels = 4096;

// Rows of a result in blocks, where there are few other pieces.
std::int64_t row_blocks(std::int64_t pieces, std::int64_t m) {
  constexpr std::int64_t kLeastRows = 64;
  return std::clamp<std::int64_t>(kFewConvPieces / pieces, 1, divide_up(m, kLeastRows));
}

// How the library's products of all items and groups are cut: pixels, so that their part of the
// right operand stays in the second-level cache, and rows of the result.
struct Cut {
  std::int64_t width, columns, rows, blocks;

  Cut(const ConvGeometry& g, std::int64_t m, std::int64_t k) {
    constexpr std::int64_t kCacheElements = 1 << 18, kLeastPixels = 256;
    const std::int64_t pixels = g.out_size();
    columns = divide_up(pixels, std::clamp(kCacheElements / k, kLeastPixels, kMostPixels));
    const std::int64_t wanted = conv_pieces(g);
    if (wanted > kFewConvPieces) {
      columns = std::max(columns, std::min(wanted / (g.batch * g.groups), pixels / kLeastPixels));
    }
    width = divide_up(divide_up(pixels, columns), 16) * 16;
    columns = divide_up(pixels, width);
    blocks = row_blocks(g.batch * g.groups * columns, m);
    rows = divide_up(m, blocks);
  }
};

// A product reads all planes side by side, which the processor does not prefetch where planes lie
// on different pages. Reading one after another first brings them to the cache.
template <class T>
void fetch_planes(const T* from, std::int64_t planes, std::int64_t n, std::int64_t distance) {
  constexpr std::int64_t kPage = 4096 / sizeof(T);
  constexpr std::int64_t kLine = 64 / sizeof(T);
  if (distance < kPage) return;
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t i = 0; i < n; i += kLine)
      static_cast<void>(*static_cast<const volatile T*>(from + p * distance + i));
  }
}

// to (m, pixels) = op(W) from (k, pixels) (+ bias) for every item and group, by the library.
template <class T>
void library_products(ThreadPool& pool, const ConvGeometry& g, std::int64_t m, std::int64_t k,
                      const Matrix<T>& weight, const Tensor& from, const Compute<T>* bias,
                      const Tensor& to) {
  const Cut cut(g, m, k);
  const std::int64_t pixels = g.out_size();
  pool.run(g.batch * g.groups * cut.columns * cut.blocks, [&](std::int64_t piece) {
    const std::int64_t first = piece % cut.blocks * cut.rows;
    if (first >= m) return;
    const std::int64_t rows = std::min(cut.rows, m - first);
    const std::int64_t begin = piece / cut.blocks % cut.columns * cut.width;
    const std::int64_t n = std::min(cut.width, pixels - begin);
    const std::int64_t plane = piece / cut.blocks / cut.columns;  // item groups + group
    const std::int64_t group = plane % g.groups;
    const T* w = weight.data + group * m * k + first * (weight.transposed ? 1 : weight.ld);
    const T* x = from.data<T>() + plane * k * pixels + begin;
    T* y = to.data<T>() + (plane * m + first) * pixels + begin;
    for (std::int64_t r = 0; bias != nullptr && r < rows; ++r)
      std::fill_n(y + r * pixels, n, static_cast<T>(bias[group * m + first + r]));
    fetch_planes(x, k, n, pixels);
    multiply<T>(g.bits, rows, n, k, {w, weight.ld, weight.transposed}, {x, pixels}, bias != nullptr,
                y, pixels);
  });
}

// The same by our own kernels: W is packed once, and x block by block, the next one being fetched
// meanwhile. A piece is a run of blocks, and some rows of W where there are few.
template <class T>
class PackedProducts {
 public:
  PackedProducts(ThreadPool& pool, const ConvGeometry& g, std::int64_t m, std::int64_t k,
                 const Matrix<T>& weight, const Tensor& from, const T* bias, const Tensor& to)
      : groups_(g.groups),
        m_(m),
        k_(k),
        pixels_(g.out_size()),
        stretches_(divide_up(k, kPanelDepth)),
        stretch_size_(round_up(m, simd::kPackedRows) * std::min(k, kPanelDepth) + simd::kSlack),
        weights_(scratch<T>(g.groups * stretches_ * stretch_size_, to)),
        from_(from.data<T>()),
        bias_(bias),
        to_(to.data<T>()) {
    constexpr std::int64_t kBlockElements = 1 << 14, kRuns = 64;
    pool.run(groups_ * stretches_,
             [&](std::int64_t i) { pack(weight, i / stretches_, i % stretches_ * kPanelDepth); });
    const std::int64_t most = far_apart() ? std::clamp(kBlockElements / std::min(k, kPanelDepth),
                                                       4 * kPackedColumns, kMostPixels)
                                          : kPackedColumns;
    width_ = round_up(divide_up(pixels_, divide_up(pixels_, most)), kPackedColumns);
    columns_ = divide_up(pixels_, width_);
    const std::int64_t blocks = g.batch * groups_ * columns_;
    const std::int64_t run = std::max<std::int64_t>(1, blocks / std::max(kRuns, conv_pieces(g)));
    const std::int64_t parts = row_blocks(blocks, m);
    rows_ = round_up(divide_up(m, parts), simd::kPackedRows);
    const std::int64_t size = width_ * std::min(k, kPanelDepth);
    reserve<T>(pool, size, to);
    pool.run(divide_up(blocks, run) * parts, [&](std::int64_t piece) {
      const std::int64_t row = piece % parts * rows_;
      if (row >= m_) return;
      const Tensor memory = scratch<T>(size, to);
      const std::int64_t first = piece / parts * run, end = std::min(blocks, first + run);
      for (std::int64_t block = first; block < end; ++block)
        multiply_block(block, end, row, memory.data<T>());
    });
  }

 private:
  // Planes on different pages have the same lines of a cache. Their blocks are wide, and few rows
  // of the result are written at a time.
  bool far_apart() const { return pixels_ * std::int64_t{sizeof(T)} >= 4096; }

  // Rows from `row` on, a multiple of kPackedRows, and terms from `first` on, of kPanelDepth.
  T* packed_weight(std::int64_t group, std::int64_t row, std::int64_t first) const {
    const std::int64_t stretch = group * stretches_ + first / kPanelDepth;
    return weights_.data<T>() + stretch * stretch_size_ + row * std::min(kPanelDepth, k_ - first);
  }
  void pack(const Matrix<T>& weight, std::int64_t group, std::int64_t first) const {
    const std::int64_t row = weight.transposed ? 1 : weight.ld;
    const std::int64_t column = weight.transposed ? weight.ld : 1;
    simd::kernels().of<T>().pack_rows(weight.data + group * m_ * k_ + first * column, row, column,
                                      m_, std::min(kPanelDepth, k_ - first),
                                      packed_weight(group, 0, first));
  }

  std::int64_t begin_of(std::int64_t block) const { return block % columns_ * width_; }
  std::int64_t width_of(std::int64_t block) const {
    return std::min(width_, pixels_ - begin_of(block));
  }
  // Planes of x from `first` on, of a block of pixels.
  const T* planes_of(std::int64_t block, std::int64_t first) const {
    return from_ + (block / columns_ * k_ + first) * pixels_ + begin_of(block);
  }
  // What is packed after the planes from `first` on: more planes, or those of the next block.
  simd::Ahead ahead_of(std::int64_t block, std::int64_t end, std::int64_t first) const {
    constexpr std::int64_t kBytes = sizeof(T);
    first += kPanelDepth;
    if (first >= k_) {
      first = 0;
      if (++block == end) return {};
    }
    return {.x = planes_of(block, first),
            .rows = std::min(kPanelDepth, k_ - first),
            .bytes = width_of(block) * kBytes,
            .apart = pixels_ * kBytes};
  }

  // rows_ rows of the result from `row` on. `end`: of the blocks of this run.
  void multiply_block(std::int64_t block, std::int64_t end, std::int64_t row, T* packed) const {
    const std::int64_t plane = block / columns_, group = plane % groups_;
    const std::int64_t n = width_of(block), rows = std::min(rows_, m_ - row);
    const std::int64_t step = far_apart() ? simd::kPackedRows : rows;
    T* y = to_ + (plane * m_ + row) * pixels_ + begin_of(block);
    for (std::int64_t r = 0; bias_ != nullptr && r < rows; ++r)
      std::fill_n(y + r * pixels_, n, bias_[group * m_ + row + r]);
    for (std::int64_t first = 0; first < k_; first += kPanelDepth) {
      const std::int64_t depth = std::min(kPanelDepth, k_ - first);
      simd::kernels().of<T>().pack_columns(planes_of(block, first), pixels_, 1, depth, n, packed);
      const simd::Ahead ahead = ahead_of(block, end, first);
      const std::int64_t share = divide_up(ahead.rows, divide_up(rows, step));
      for (std::int64_t r = 0; r < rows; r += step) {
        simd::Ahead part = ahead;
        const std::int64_t fetched = std::min(ahead.rows, r / step * share);
        part.x = static_cast<const char*>(ahead.x) + fetched * ahead.apart;
        part.rows = std::min(share, ahead.rows - fetched);
        simd::kernels().of<T>().packed_product({.m = std::min(step, rows - r),
                                                .n = n,
                                                .k = depth,
                                                .a = packed_weight(group, row + r, first),
                                                .b = packed,
                                                .b_row = depth,
                                                .c = y + r * pixels_,
                                                .ldc = pixels_,
                                                .accumulate = bias_ != nullptr || first > 0,
                                                .ahead = {&part, 1}});
      }
    }
  }

  std::int64_t groups_, m_, k_, pixels_;
  std::int64_t stretches_, stretch_size_;  // of terms; what is packed of W for one of them
  Tensor weights_;
  const T* from_;
  const T* bias_;
  T* to_;
  std::int64_t width_ = 0, columns_ = 0;  // of a block of pixels; blocks of a plane
  std::int64_t rows_ = 0;                 // of the result in a piece
};

template <class T>
void products(ThreadPool& pool, const ConvGeometry& g, std::int64_t m, std::int64_t k,
              const Matrix<T>& weight, const Tensor& from, const Compute<T>* bias,
              const Tensor& to) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    if (!by_library<T>(g.bits)) {
      PackedProducts<T>(pool, g, m, k, weight, from, bias, to);
      return;
    }
  }
  library_products<T>(pool, g, m, k, weight, from, bias, to);
}

// The weight as x and y are stored.
template <class T>
Tensor stored_weight(const Tensor& weight) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return weight;
  } else {
    const Tensor stored = scratch<T>(weight.numel(), weight);
    simd::kernels().of<T>().narrow(weight.data<Compute<T>>(), stored.data<T>(), weight.numel());
    return stored;
  }
}

}  // namespace

bool is_large_pointwise(const ConvGeometry& g) { return g.pointwise() && g.out_size() >= 16; }

template <class T>
void pointwise_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x,
                       const Tensor& weight, const Compute<T>* bias, const Tensor& y) {
  const Tensor w = stored_weight<T>(weight);
  products<T>(pool, g, g.c_out, g.c_in, {w.data<T>(), g.c_in}, x, bias, y);
}

template <class T>
void pointwise_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                             const Tensor& dy, const Tensor& dx) {
  const Tensor w = stored_weight<T>(weight);
  products<T>(pool, g, g.c_in, g.c_out, {w.data<T>(), g.c_in, true}, dy, nullptr, dx);
}

// A piece is a chunk of the items, a group, and a block of output channels where chunks are few.
template <class T>
void pointwise_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                               const Tensor& dy, const Tensor& dweight) {
  using C = Compute<T>;
  const std::int64_t size = dweight.numel();
  const std::int64_t pixels = g.out_size();
  const ConvSource<T> source(x);
  const std::int64_t most = conv_pieces(g, size);
  const Chunks cut(g.batch, size, most);
  // Each block makes an x that is not in memory again.
  const std::int64_t pieces = source.made() ? kFewConvPieces : most;
  const std::int64_t blocks =
      std::clamp<std::int64_t>(pieces / (cut.chunks * g.groups), 1, divide_up(g.c_out, 32));
  const std::int64_t block = divide_up(g.c_out, blocks);
  const Tensor parts = cut.chunks == 1 ? dweight : scratch<C>(cut.chunks * size, dweight);
  if (source.made()) reserve<T>(pool, g.c_in * pixels, dweight);
  pool.run(cut.chunks * g.groups * blocks, [&](std::int64_t piece) {
    const std::int64_t first = piece % blocks * block;
    if (first >= g.c_out) return;
    const std::int64_t group = piece / blocks % g.groups;
    const std::int64_t part = piece / blocks / g.groups;
    C* to = parts.data<C>() + part * size + (group * g.c_out + first) * g.c_in;
    const Tensor memory = source.made() ? scratch<T>(g.c_in * pixels, dweight) : Tensor();
    const std::int64_t begin = part * cut.chunk;
    for (std::int64_t i = begin; i < std::min(g.batch, begin + cut.chunk); ++i) {
      const std::int64_t plane = i * g.groups + group;
      const std::int64_t rows = std::min(block, g.c_out - first);
      const T* left = dy.data<T>() + (plane * g.c_out + first) * pixels;
      Matrix<T> right = source.part(i, group * g.c_in, g.c_in, 0, pixels,
                                    source.made() ? memory.data<T>() : nullptr);
      right.transposed = true;
      multiply<T, C>(g.bits, rows, g.c_in, pixels, {left, pixels}, right, i > begin, to, g.c_in);
    }
  });
  if (cut.chunks > 1) sum_parts(pool, parts.data<C>(), cut.chunks, size, dweight.data<C>());
}

#define FOVEA_INSTANTIATE(T)                                                                     \
  template void pointwise_forward<T>(ThreadPool&, const ConvGeometry&, const Tensor&,            \
                                     const Tensor&, const Compute<T>*, const Tensor&);           \
  template void pointwise_backward_data<T>(ThreadPool&, const ConvGeometry&, const Tensor&,      \
                                           const Tensor&, const Tensor&);                        \
  template void pointwise_backward_weight<T>(ThreadPool&, const ConvGeometry&, const NormedMap&, \
                                             const Tensor&, const Tensor&);
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(double)
FOVEA_INSTANTIATE(BFloat16)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
