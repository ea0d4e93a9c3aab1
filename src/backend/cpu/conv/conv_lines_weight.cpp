// The gradient of the weight over copies of parts of the input (tap_layout.h): register tiles of
// taps and output channels, summed over positions. Output channels are lanes, for which dy is
// transposed; or positions are, where lines are so long, and so few terms share what is
// transposed, that this costs less.
#include <algorithm>
#include <vector>

#include "backend/cpu/conv/conv_lines.h"
#include "backend/cpu/conv/conv_source.h"
#include "backend/cpu/conv/tap_layout.h"
#include "backend/cpu/pieces.h"

namespace fovea::cpu {
namespace {

// Of a block of the gradient of the weight, for each sum over them: of 256, gradients of large maps
// had errors half as large again.
constexpr std::int64_t kPositions = 128;

// (Measured with eight lanes; a line has some twenty instructions of its own.)
template <class T>
bool positions_are_lanes(const ConvGeometry& g) {
  const std::int64_t lanes = simd::kernels().lanes<T>();
  return g.out[2] % lanes == 0 && g.c_in * g.taps() <= 36 * (g.out[2] / lanes);
}

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
        in_place_(positions_are_lanes<T>(g)),
        layout_(TapLayout::of<T>(g, TapLayout::Lines::kRows,
                                 in_place_ ? kPositions * simd::kernels().lanes<T>() : kPositions)),
        source_(x),
        dy_(dy.data<T>()),
        pair_(2 * simd::kernels().lanes<T>()),
        panels_(divide_up(g.c_out, pair_)) {
    const std::int64_t size = dweight.numel(), pieces = conv_pieces(g, size);
    const Chunks cut(layout_.blocks(), size, pieces);
    const std::int64_t ranges =
        std::clamp<std::int64_t>(pieces / (cut.chunks * g.groups), 1, divide_up(g.c_in, 8));
    range_ = divide_up(g.c_in, ranges);
    copied_ = std::clamp<std::int64_t>(kCopyElements / layout_.channel_size(), 1, range_);
    for (std::int64_t term = 0; term < copied_ * g.taps(); ++term)
      distances_.push_back(layout_.distance(term / g.taps(), term % g.taps()));
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
  std::int64_t row_size() const { return range_ * g_.taps(); }
  std::int64_t panel_size() const { return row_size() * pair_; }
  // Parts of a piece's memory. Sums are rows of output channels, or panels of two vectors of them.
  std::int64_t sums_size() const {
    return in_place_ ? g_.c_out * row_size() : panels_ * panel_size();
  }
  std::int64_t gradient_size() const {
    return in_place_ ? 0 : layout_.block_positions() * panels_ * pair_;
  }
  std::int64_t copy_size() const { return round_up(layout_.copy_size(copied_), simd::kSlack); }
  std::int64_t made_size() const { return source_.made() ? layout_.made_size() : 0; }

  void add(const ConvBlock& block, std::int64_t group, std::int64_t first, std::int64_t channels,
           T* sums) const {
    T* gradient = sums + sums_size();
    T* copy = gradient + gradient_size();
    if (!in_place_) pack_gradient(g_, block, dy_, group, pair_, gradient);
    const std::int64_t plane = (block.item * g_.groups + group) * g_.c_out;
    const T* dy = dy_ + plane * g_.out_size() + layout_.place(block.begin);
    for (std::int64_t c = 0; c < channels; c += copied_) {
      const std::int64_t here = std::min(copied_, channels - c);
      layout_.copy(source_, block, group * g_.c_in + first + c, here, copy + copy_size(), copy);
      const simd::ConvLines<T> lines{.count = layout_.line_count(block),
                                     .width = layout_.line_width(block),
                                     .terms = here * g_.taps(),
                                     .lines = layout_.lines().data(),
                                     .distances = distances_.data(),
                                     .x = copy};
      if (in_place_) {
        simd::kernels().of<T>().conv_plane_sums(lines, dy, g_.out_size(), g_.c_out,
                                                sums + c * g_.taps(), row_size());
      } else {
        simd::kernels().of<T>().conv_line_sums(lines, gradient, g_.c_out,
                                               sums + c * g_.taps() * pair_, panel_size());
      }
    }
  }

  // The first `terms` sums of all channels to rows of the weight.
  void put(const T* sums, std::int64_t terms, T* to) const {
    for (std::int64_t c = 0; c < g_.c_out; ++c, to += g_.c_in * g_.taps()) {
      if (in_place_) {
        std::copy_n(sums + c * row_size(), terms, to);
        continue;
      }
      const T* from = sums + c / pair_ * panel_size() + c % pair_;
      for (std::int64_t term = 0; term < terms; ++term) to[term] = from[term * pair_];
    }
  }

  const ConvGeometry& g_;
  bool in_place_;  // dy is read where it lies: positions are lanes
  TapLayout layout_;
  ConvSource<T> source_;
  const T* dy_;
  std::int64_t pair_, panels_;
  std::int64_t range_ = 0, copied_ = 0;  // channels of a piece, and of a copy
  std::vector<std::int64_t> distances_;
};

}  // namespace

template <class T>
void lines_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                           const Tensor& dy, const Tensor& dweight) {
  BackwardWeight<T>(pool, g, x, dy, dweight);
}

#define FOVEA_INSTANTIATE(T)                                                                 \
  template void lines_backward_weight<T>(ThreadPool&, const ConvGeometry&, const NormedMap&, \
                                         const Tensor&, const Tensor&);
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(double)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
