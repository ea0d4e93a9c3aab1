// The input of a block of the output is copied with room for all taps (tap_layout.h), so that it is
// read where it lies, once for every tap, and no matrix of patches is made.
//   forward           register tiles of output channels and positions; positions are lanes
//   backward, weight  register tiles of taps and output channels, summed over positions; output
//                     channels are lanes, for which dy is transposed
// A sum has kPanelDepth terms or kPositions positions at most before it is added to others, in
// their order.
#include "backend/cpu/conv/conv_lines.h"

#include <algorithm>
#include <vector>

#include "backend/cpu/conv/conv_source.h"
#include "backend/cpu/conv/tap_layout.h"
#include "backend/cpu/pieces.h"

namespace fovea::cpu {
namespace {

using simd::kPackedRows;
using simd::kPanelDepth;

constexpr std::int64_t kCopyElements = 1 << 15;  // of a block's input
constexpr std::int64_t kResults = 1 << 17;       // of a block
// Of a block of the gradient of the weight, which has one sum over them: of 256, gradients of large
// maps had errors half as large again.
constexpr std::int64_t kPositions = 128;

// The terms of a result in equal chunks, of whole channels where kernels are not too large.
class Terms {
 public:
  explicit Terms(const ConvGeometry& g) : taps_(g.taps()), all_(g.c_in * g.taps()) {
    const std::int64_t unit = taps_ <= kPanelDepth ? taps_ : 1, units = all_ / unit;
    size_ = divide_up(units, divide_up(units, kPanelDepth / unit)) * unit;
  }
  std::int64_t all() const { return all_; }
  std::int64_t most() const { return size_; }
  std::int64_t chunks() const { return divide_up(all_, size_); }
  std::int64_t first(std::int64_t chunk) const { return chunk * size_; }
  std::int64_t count(std::int64_t chunk) const { return std::min(size_, all_ - first(chunk)); }
  std::int64_t first_channel(std::int64_t chunk) const { return first(chunk) / taps_; }
  std::int64_t channels(std::int64_t chunk) const {
    return (first(chunk) + count(chunk) - 1) / taps_ + 1 - first_channel(chunk);
  }
  bool same_channels(std::int64_t a, std::int64_t b) const {
    return first_channel(a) == first_channel(b) && channels(a) == channels(b);
  }
  std::int64_t most_channels() const {
    std::int64_t most = 0;
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) most = std::max(most, channels(chunk));
    return most;
  }
  /// Of all terms, in copies of their chunk's channels.
  std::vector<std::int64_t> distances(const TapLayout& layout) const {
    std::vector<std::int64_t> distances;
    for (std::int64_t term = 0; term < all_; ++term)
      distances.push_back(layout.distance(term - first_channel(term / size_) * taps_));
    return distances;
  }

 private:
  std::int64_t taps_, all_, size_ = 1;
};

// Output channels of a group in blocks whose weights stay in the second-level cache.
class ChannelBlocks {
 public:
  ChannelBlocks(std::int64_t channels, std::int64_t least_blocks) : channels_(channels) {
    constexpr std::int64_t kMost = 252;
    const std::int64_t blocks = std::max(least_blocks, divide_up(channels, kMost));
    size_ = round_up(divide_up(channels, blocks), kPackedRows);
  }
  std::int64_t count() const { return divide_up(channels_, size_); }
  std::int64_t first(std::int64_t i) const { return i * size_; }
  std::int64_t channels(std::int64_t i) const { return std::min(size_, channels_ - first(i)); }
  std::int64_t most() const { return size_; }

 private:
  std::int64_t channels_, size_;
};

// Weights of all groups, blocks of channels and chunks of terms.
template <class T>
class PackedWeight {
 public:
  PackedWeight(ThreadPool& pool, const ConvGeometry& g, const Terms& terms,
               const ChannelBlocks& blocks, const Tensor& weight)
      : chunks_(terms.chunks()),
        blocks_(blocks.count()),
        size_(blocks.most() * terms.most() + simd::kSlack),
        memory_(scratch<T>(g.groups * chunks_ * blocks_ * size_, weight)) {
    pool.run(g.groups * chunks_ * blocks_, [&](std::int64_t i) {
      const std::int64_t block = i % blocks_, chunk = i / blocks_ % chunks_;
      const std::int64_t row = i / blocks_ / chunks_ * g.c_out + blocks.first(block);
      simd::kernels().of<T>().pack_conv_rows(
          weight.data<T>() + row * terms.all() + terms.first(chunk), terms.all(),
          blocks.channels(block), terms.count(chunk), memory_.template data<T>() + i * size_);
    });
  }
  const T* at(std::int64_t group, std::int64_t chunk, std::int64_t block) const {
    return memory_.template data<T>() + ((group * chunks_ + chunk) * blocks_ + block) * size_;
  }

 private:
  std::int64_t chunks_, blocks_, size_;
  Tensor memory_;
};

// The most positions of a block of a forward pass.
std::int64_t most_positions(const ConvGeometry& g, const Terms& terms) {
  constexpr std::int64_t kLeast = 64, kMost = 1024;
  std::int64_t copied = terms.most_channels();  // elements for each position
  for (std::size_t axis = 0; axis < 3; ++axis) copied *= std::min(g.stride[axis], g.reach(axis));
  return std::clamp(std::min(kCopyElements / copied, kResults / g.c_out), kLeast, kMost);
}

// Where there are few pieces, output channels are divided too, and copies made more than once.
std::int64_t piece_channel_blocks(const ConvGeometry& g, std::int64_t pieces) {
  constexpr std::int64_t kLeastChannels = 64;
  if (pieces >= kFewConvPieces / 2) return 1;
  return std::clamp<std::int64_t>(g.c_out / kLeastChannels, 1, kFewConvPieces / pieces);
}

template <class T>
class Forward {
 public:
  Forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& weight,
          const T* bias, const Tensor& y)
      : g_(g),
        terms_(g),
        layout_(TapLayout::of<T>(g, TapLayout::Lines::kVectors, most_positions(g, terms_))),
        distances_(terms_.distances(layout_)),
        source_({.x = x}),
        channels_(g.c_out, piece_channel_blocks(g, layout_.blocks() * g.groups)),
        weight_(pool, g, terms_, channels_, weight),
        bias_(bias),
        y_(y),
        copy_size_(round_up(layout_.copy_size(terms_.most_channels()), simd::kSlack)) {
    const std::int64_t pieces = layout_.blocks() * g.groups;
    // Blocks of channels are pieces of their own, or all of them are one.
    const std::int64_t parts = piece_channel_blocks(g, pieces) > 1 ? channels_.count() : 1;
    const std::int64_t blocks = channels_.count() / parts;
    memory_size_ =
        copy_size_ + std::min(g.c_out, blocks * channels_.most()) * layout_.result_size();
    reserve<T>(pool, memory_size_, y);
    pool.run(pieces * parts, [&](std::int64_t piece) {
      const std::int64_t at = piece / parts;
      run(layout_.block(at / g.groups), at % g.groups, piece % parts * blocks, blocks);
    });
  }

 private:
  // Some blocks of channels, from `first` on, of one group and one block of positions.
  void run(const ConvBlock& block, std::int64_t group, std::int64_t first,
           std::int64_t blocks) const {
    const Tensor memory = scratch<T>(memory_size_, y_);
    T* copy = memory.data<T>();
    const std::int64_t size = g_.out_size(), c = channels_.first(first);
    const std::int64_t channels = std::min(blocks * channels_.most(), g_.c_out - c);
    const std::int64_t plane = (block.item * g_.groups + group) * g_.c_out + c;
    T* y = y_.data<T>() + plane * size + layout_.place(block.begin);
    T* result = layout_.lines_are_rows() ? y : copy + copy_size_;
    const std::int64_t ldy = layout_.lines_are_rows() ? size : layout_.result_size();
    simd::ConvLines<T> lines{.count = layout_.line_count(block),
                             .width = layout_.line_width(block),
                             .lines = layout_.lines().data(),
                             .x = copy};
    if (bias_ != nullptr) begin(lines, bias_ + group * g_.c_out + c, channels, result, ldy);
    for (std::int64_t chunk = 0; chunk < terms_.chunks(); ++chunk) {
      if (chunk == 0 || !terms_.same_channels(chunk, chunk - 1)) {
        layout_.copy<T>(source_, block, group * g_.c_in + terms_.first_channel(chunk),
                        terms_.channels(chunk), nullptr, copy);
      }
      lines.terms = terms_.count(chunk);
      lines.distances = distances_.data() + terms_.first(chunk);
      for (std::int64_t i = first; i < first + blocks; ++i) {
        simd::kernels().of<T>().conv_lines(
            lines, weight_.at(group, chunk, i), channels_.channels(i),
            result + (channels_.first(i) - c) * ldy, ldy, chunk > 0 || bias_ != nullptr);
      }
    }
    if (!layout_.lines_are_rows()) layout_.put(block, result, channels, y);
  }

  // Results begin with the bias.
  static void begin(const simd::ConvLines<T>& lines, const T* bias, std::int64_t channels,
                    T* result, std::int64_t ldy) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t line = 0; line < lines.count; ++line)
        std::fill_n(result + c * ldy + lines.lines[line].y, lines.width, bias[c]);
    }
  }

  const ConvGeometry& g_;
  Terms terms_;
  TapLayout layout_;
  std::vector<std::int64_t> distances_;
  ConvSource<T> source_;
  ChannelBlocks channels_;
  PackedWeight<T> weight_;
  const T* bias_;
  const Tensor& y_;
  std::int64_t copy_size_, memory_size_ = 0;
};

// dy of a block and a group, transposed: panels of two vectors of channels, a row a position.
template <class T>
void pack_gradient(const ConvGeometry& g, const ConvBlock& block, const T* dy, std::int64_t group,
                   std::int64_t pair, T* to) {
  const std::int64_t size = g.out_size();
  // Rows, or all of a slice, lie next to each other.
  const bool slices = block.size[2] == g.out[2];
  const std::int64_t stretches = block.items * block.size[0] * (slices ? 1 : block.size[1]);
  const std::int64_t positions = block.positions(), n = positions / stretches;
  for (std::int64_t i = 0; i < stretches; ++i) {
    const std::int64_t h = slices ? 0 : i % block.size[1];
    const std::int64_t slice = slices ? i : i / block.size[1];
    const std::int64_t item = block.item + slice / block.size[0];
    const std::int64_t d = block.begin[0] + slice % block.size[0];
    const T* from = dy + (item * g.groups + group) * g.c_out * size +
                    (d * g.out[1] + block.begin[1] + h) * g.out[2] + block.begin[2];
    for (std::int64_t c = 0; c < g.c_out; c += pair) {
      simd::kernels().of<T>().pack_columns(from + c * size, 1, size, n, std::min(pair, g.c_out - c),
                                           to + c * positions + i * n * pair);
    }
  }
}

// A piece is a chunk of the blocks, with a partial sum of its own, and a range of input channels,
// with columns of the weight of its own. Large weights have few chunks and many ranges.
template <class T>
class BackwardWeight {
 public:
  BackwardWeight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x, const Tensor& dy,
                 const Tensor& dweight)
      : g_(g),
        layout_(TapLayout::of<T>(g, TapLayout::Lines::kRows, kPositions)),
        source_(x),
        dy_(dy.data<T>()),
        pair_(2 * simd::kernels().vector_bytes / std::int64_t{sizeof(T)}),
        panels_(divide_up(g.c_out, pair_)) {
    const std::int64_t size = dweight.numel(), pieces = conv_pieces(g, size);
    const Chunks cut(layout_.blocks(), size, pieces);
    const std::int64_t ranges =
        std::clamp<std::int64_t>(pieces / (cut.chunks * g.groups), 1, divide_up(g.c_in, 8));
    range_ = divide_up(g.c_in, ranges);
    copied_ = std::clamp<std::int64_t>(kCopyElements / layout_.channel_size(), 1, range_);
    for (std::int64_t term = 0; term < copied_ * g.taps(); ++term)
      distances_.push_back(layout_.distance(term));
    const Tensor parts = cut.chunks == 1 ? dweight : scratch<T>(cut.chunks * size, dweight);
    const std::int64_t memory_size = sums_size() + gradient_size() + copy_size() + made_size();
    reserve<T>(pool, memory_size, dweight);
    pool.run(cut.chunks * g.groups * ranges, [&](std::int64_t piece) {
      const std::int64_t first = piece % ranges * range_;
      if (first >= g.c_in) return;
      const Tensor memory = scratch<T>(memory_size, dweight);
      const std::int64_t group = piece / ranges % g.groups, part = piece / ranges / g.groups;
      const std::int64_t channels = std::min(range_, g.c_in - first);
      std::fill_n(memory.data<T>(), sums_size(), T{0});
      for (std::int64_t i = part * cut.chunk;
           i < std::min(layout_.blocks(), (part + 1) * cut.chunk); ++i)
        add(layout_.block(i), group, first, channels, memory.data<T>());
      put(memory.data<T>(), channels * g.taps(),
          parts.data<T>() + part * size + (group * g.c_out * g.c_in + first) * g.taps());
    });
    if (cut.chunks > 1) sum_parts(pool, parts.data<T>(), cut.chunks, size, dweight.data<T>());
  }

 private:
  std::int64_t panel_size() const { return range_ * g_.taps() * pair_; }
  // Parts of a piece's memory.
  std::int64_t sums_size() const { return panels_ * panel_size(); }
  std::int64_t gradient_size() const { return layout_.block_positions() * panels_ * pair_; }
  std::int64_t copy_size() const { return round_up(layout_.copy_size(copied_), simd::kSlack); }
  std::int64_t made_size() const { return source_.made() ? layout_.made_size() : 0; }

  void add(const ConvBlock& block, std::int64_t group, std::int64_t first, std::int64_t channels,
           T* sums) const {
    T* gradient = sums + sums_size();
    T* copy = gradient + gradient_size();
    pack_gradient(g_, block, dy_, group, pair_, gradient);
    for (std::int64_t c = 0; c < channels; c += copied_) {
      const std::int64_t here = std::min(copied_, channels - c);
      layout_.copy(source_, block, group * g_.c_in + first + c, here, copy + copy_size(), copy);
      simd::kernels().of<T>().conv_line_sums({.count = layout_.line_count(block),
                                              .width = layout_.line_width(block),
                                              .terms = here * g_.taps(),
                                              .lines = layout_.lines().data(),
                                              .distances = distances_.data(),
                                              .x = copy},
                                             gradient, g_.c_out, sums + c * g_.taps() * pair_,
                                             panel_size());
    }
  }

  // The first `terms` sums of all channels to rows of the weight.
  void put(const T* sums, std::int64_t terms, T* to) const {
    for (std::int64_t c = 0; c < g_.c_out; ++c) {
      const T* from = sums + c / pair_ * panel_size() + c % pair_;
      for (std::int64_t term = 0; term < terms; ++term)
        to[c * g_.c_in * g_.taps() + term] = from[term * pair_];
    }
  }

  const ConvGeometry& g_;
  TapLayout layout_;
  ConvSource<T> source_;
  const T* dy_;
  std::int64_t pair_, panels_;
  std::int64_t range_ = 0, copied_ = 0;  // channels of a piece, and of a copy
  std::vector<std::int64_t> distances_;
};

}  // namespace

template <class T>
void lines_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                   const T* bias, const Tensor& y) {
  Forward<T>(pool, g, x, weight, bias, y);
}

template <class T>
void lines_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                           const Tensor& dy, const Tensor& dweight) {
  BackwardWeight<T>(pool, g, x, dy, dweight);
}

#define FOVEA_INSTANTIATE(T)                                                                     \
  template void lines_forward<T>(ThreadPool&, const ConvGeometry&, const Tensor&, const Tensor&, \
                                 const T*, const Tensor&);                                       \
  template void lines_backward_weight<T>(ThreadPool&, const ConvGeometry&, const NormedMap&,     \
                                         const Tensor&, const Tensor&);
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(double)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
