// Convolution, six ways. One input channel per group: conv_depthwise.cpp. A kernel of one pixel:
// conv_pointwise.cpp. Float32, 3x3 of stride 1 with many channels: conv_winograd.cpp. Float32 and
// bfloat16 where oneDNN has a kernel: conv_blocked.cpp. The others: conv_lines.cpp; but their
// gradient of x where windows do not overlap or leave gaps, or with far fewer channels of x, is
// here: W^T dy, tile by tile so that it stays in the cache, added to the places that each tap sees.
// bfloat16 without a kernel of its own is convolved as float32, some items at a time.
#include <array>

#include "backend/cpu/conv/conv_blocked.h"
#include "backend/cpu/conv/conv_depthwise.h"
#include "backend/cpu/conv/conv_geometry.h"
#include "backend/cpu/conv/conv_lines.h"
#include "backend/cpu/conv/conv_pointwise.h"
#include "backend/cpu/conv/conv_winograd.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/products/onednn.h"

namespace fovea::cpu {
namespace {

// Columns of a tile, of a column's bytes.
std::int64_t tile_width(std::int64_t columns, std::int64_t column_bytes) {
  constexpr std::int64_t kCacheBytes = 1 << 19;
  const std::int64_t wanted = std::clamp<std::int64_t>(kCacheBytes / column_bytes, 96, 1024);
  if (columns < wanted) return columns;
  return divide_up(divide_up(columns, divide_up(columns, wanted)), 16) * 16;
}

// A piece owns a range of input channels of one item, so pieces never add to the same place.
template <class T>
void backward_data(ThreadPool& pool, const ConvGeometry& g, const T* weight, const Tensor& dy,
                   const Tensor& dx) {
  const std::int64_t taps = g.taps();
  const std::int64_t depth = g.c_in * taps;
  const std::int64_t blocks =
      std::clamp<std::int64_t>(conv_pieces(g) / (g.batch * g.groups), 1, g.c_in);
  const std::int64_t block = divide_up(g.c_in, blocks);
  const std::int64_t width = tile_width(g.out_size(), block * taps * std::int64_t{sizeof(T)});
  pool.run(g.batch * g.groups * blocks, [&](std::int64_t piece) {
    const std::int64_t first = piece % blocks * block;
    if (first >= g.c_in) return;
    const std::int64_t channels = std::min(block, g.c_in - first);
    const std::int64_t plane = piece / blocks;  // item groups + group
    const T* from = dy.data<T>() + plane * g.c_out * g.out_size();
    T* to = dx.data<T>() + (plane * g.c_in + first) * g.in_size();
    const T* matrix = weight + plane % g.groups * g.c_out * depth + first * taps;
    const Tensor memory = scratch<T>(channels * taps * width, dx);
    std::fill_n(to, channels * g.in_size(), T{0});
    for (std::int64_t begin = 0; begin < g.out_size(); begin += width) {
      const std::int64_t columns = std::min(width, g.out_size() - begin);
      multiply<T>(g.bits, channels * taps, columns, g.c_out, {matrix, depth, true},
                  {from + begin, g.out_size()}, false, memory.data<T>(), columns);
      scatter_patches(g, memory.data<T>(), columns, channels, begin, columns, to);
    }
  });
}

enum class Way { kDepthwise, kPointwise, kWinograd, kBlocked, kLines };

template <class S>
Way way_for(const ConvGeometry& g, onednn::ConvPass pass) {
  if (g.depthwise()) return Way::kDepthwise;
  // Where the processor does not multiply bfloat16, float32 is faster.
  if (std::is_same_v<S, BFloat16> && !onednn::fast_bfloat16()) return Way::kLines;
  if (is_large_pointwise(g)) return Way::kPointwise;
  if (std::is_same_v<S, float> && winograd_is_fast(g)) return Way::kWinograd;
  // oneDNN pads channels of x to a vector: for the gradients of one channel it computes sixteen.
  if (pass != onednn::ConvPass::kForward && g.groups == 1 && g.c_in == 1) return Way::kLines;
  const bool blocked = !std::is_same_v<S, double> && g.bits == Bits::kOfSizes &&
                       blocked_is_fast(g, pass, kDTypeOf<S>);
  return blocked ? Way::kBlocked : Way::kLines;
}

// oneDNN has layouts for float and BFloat16.
template <class S>
using Blocked = std::conditional_t<std::is_same_v<S, double>, float, S>;

Tensor widened(const CpuBackend& backend, const Tensor& x) {
  const Tensor wide = Tensor::empty(x.shape(), compute_dtype(x.dtype()), x.device());
  backend.cast(x, wide);
  return wide;
}

// Calls use(begin, end) with some items after the others, so that float32 copies of their x and y
// stay in the cache; with all where a call has its own work for the weight and few positions to
// share it, or float32 is convolved by Winograd's filtering, which wants many.
template <class Use>
void for_items(const ConvGeometry& g, const Use& use) {
  constexpr std::int64_t kElements = 1 << 19, kLeastPositions = 1 << 11;
  const std::int64_t item = g.groups * (g.c_in * g.in_size() + g.c_out * g.out_size());
  const std::int64_t fit = std::max(kElements / item, divide_up(kLeastPositions, g.out_size()));
  const std::int64_t most = winograd_is_fast(g) ? g.batch : std::min(g.batch, fit);
  const std::int64_t step = divide_up(g.batch, divide_up(g.batch, most));
  for (std::int64_t begin = 0; begin < g.batch; begin += step)
    use(begin, std::min(g.batch, begin + step));
}

// Calls use(x, y), of float32, with some items of `from` after the others, for those of `to`.
template <class Use>
void in_float32(const CpuBackend& backend, const ConvGeometry& g, const Tensor& from,
                const Tensor& to, const Use& use) {
  for_items(g, [&](std::int64_t begin, std::int64_t end) {
    const Tensor items = to.rows(begin, end);
    const Tensor y = Tensor::empty(items.shape(), DType::kFloat32, to.device());
    use(widened(backend, from.rows(begin, end)), y);
    backend.cast(y, items);
  });
}

// relu(norm(x)) as a whole, for the ways that cannot make it piece by piece.
Tensor whole(const CpuBackend& backend, const NormedMap& x) {
  if (!x.norm.mean.defined()) return x.x;
  const Tensor made = Tensor::empty_like(x.x);
  backend.channel_norm(x, made);
  return made;
}

// The numbers of a batch norm are those of all items.
NormedMap rows(NormedMap x, std::int64_t begin, std::int64_t end) {
  x.x = x.x.rows(begin, end);
  if (x.residual.defined()) x.residual = x.residual.rows(begin, end);
  return x;
}

}  // namespace

void CpuBackend::conv(const ConvArgs& args, const Tensor& x, const Tensor& weight,
                      const Tensor& bias, const Tensor& y) const {
  if (y.numel() == 0) return;
  const ConvGeometry g = conv_geometry(bits(), args, x.shape(), weight.shape(), y.shape());
  dispatch_stored("conv", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const C* pbias = bias.defined() ? bias.data<C>() : nullptr;
    switch (way_for<S>(g, onednn::ConvPass::kForward)) {
      case Way::kDepthwise:
        return depthwise_forward<S>(pool_, g, x, weight, pbias, y);
      case Way::kPointwise:
        return pointwise_forward<S>(pool_, g, x, weight, pbias, y);
      case Way::kWinograd:
        if constexpr (std::is_same_v<S, float>)
          return winograd_forward(pool_, g, x, weight, pbias, y);
        break;
      case Way::kBlocked:
        return blocked_forward<Blocked<S>>(pool_, g, x, weight, bias, y);
      case Way::kLines:
        break;
    }
    if constexpr (std::is_same_v<S, C>) {
      lines_forward<S>(pool_, g, x, weight, pbias, y);
    } else {
      in_float32(*this, g, x, y,
                 [&](const Tensor& from, const Tensor& to) { conv(args, from, weight, bias, to); });
    }
  });
}

void CpuBackend::conv_backward_data(const ConvArgs& args, const Tensor& weight, const Tensor& dy,
                                    const Tensor& dx) const {
  if (dx.numel() == 0) return;
  const ConvGeometry g = conv_geometry(bits(), args, dx.shape(), weight.shape(), dy.shape());
  dispatch_stored("conv_backward_data", dx.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    switch (way_for<S>(g, onednn::ConvPass::kBackwardData)) {
      case Way::kDepthwise:
        return depthwise_backward_data<S>(pool_, g, weight, dy, dx);
      case Way::kPointwise:
        return pointwise_backward_data<S>(pool_, g, weight, dy, dx);
      case Way::kWinograd:
        if constexpr (std::is_same_v<S, float>)
          return winograd_backward_data(pool_, g, weight, dy, dx);
        break;
      case Way::kBlocked:
        return blocked_backward_data<Blocked<S>>(pool_, g, weight, dy, dx);
      case Way::kLines:
        break;
    }
    if constexpr (!std::is_same_v<S, C>) {
      in_float32(*this, g, dy, dx, [&](const Tensor& from, const Tensor& to) {
        conv_backward_data(args, weight, from, to);
      });
    } else if (lines_reach_all(g) && 8 * g.c_in > g.c_out) {
      lines_backward_data<S>(pool_, g, weight, dy, dx);
    } else {
      backward_data<S>(pool_, g, weight.data<S>(), dy, dx);
    }
  });
}

void CpuBackend::conv_backward_weight(const ConvArgs& args, const Tensor& x, const Tensor& dy,
                                      const Tensor& dweight) const {
  conv_norm_backward_weight(args, {.x = x}, dy, dweight);
}

void CpuBackend::conv_norm_backward_weight(const ConvArgs& args, const NormedMap& x,
                                           const Tensor& dy, const Tensor& dweight) const {
  const ConvGeometry g = conv_geometry(bits(), args, x.x.shape(), dweight.shape(), dy.shape());
  if (dy.numel() == 0 || dweight.numel() == 0) {
    fill(dweight, 0);
    return;
  }
  dispatch_stored("conv_backward_weight", x.x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    switch (way_for<S>(g, onednn::ConvPass::kBackwardWeight)) {
      case Way::kDepthwise:
        return depthwise_backward_weight<S>(pool_, g, whole(*this, x), dy, dweight);
      case Way::kPointwise:
        return pointwise_backward_weight<S>(pool_, g, x, dy, dweight);
      case Way::kWinograd:
        if constexpr (std::is_same_v<S, float>)
          return winograd_backward_weight(pool_, g, x, dy, dweight);
        break;
      case Way::kBlocked:
        return blocked_backward_weight<Blocked<S>>(pool_, g, x, dy, dweight);
      case Way::kLines:
        break;
    }
    if constexpr (std::is_same_v<S, C>) {
      lines_backward_weight<S>(pool_, g, x, dy, dweight);
    } else {
      const Tensor memory = Tensor::empty_like(dweight);
      for_items(g, [&](std::int64_t begin, std::int64_t end) {
        const Tensor& to = begin == 0 ? dweight : memory;
        conv_backward_weight(args, widened(*this, whole(*this, rows(x, begin, end))),
                             widened(*this, dy.rows(begin, end)), to);
        if (begin > 0) axpy(1, memory, dweight);
      });
    }
  });
}

}  // namespace fovea::cpu
