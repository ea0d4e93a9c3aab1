// Convolution, five ways. One input channel per group: conv_depthwise.cpp. A kernel of one pixel:
// conv_pointwise.cpp. Float32, 3x3 of stride 1 with many channels: conv_winograd.cpp. Float32 and
// bfloat16 where oneDNN has a kernel: conv_blocked.cpp. The others
// here, as a product of the weight with a matrix of input patches (im2col), made tile by tile so
// that it stays in the cache; bfloat16 is computed as float32.
//   forward           y = W patches(x)
//   backward, data    stride 1: the forward pass of dy with reversed weights;
//                     other strides, or far fewer channels of x: W^T dy, added to the places that
//                     the patches came from
//   backward, weight  dy patches(x)^T, summed over pieces that do not depend on the threads
#include <array>

#include "backend/cpu/conv/conv_blocked.h"
#include "backend/cpu/conv/conv_depthwise.h"
#include "backend/cpu/conv/conv_geometry.h"
#include "backend/cpu/conv/conv_pointwise.h"
#include "backend/cpu/conv/conv_winograd.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/products/onednn.h"

namespace fovea::cpu {
namespace {

// Columns of the patch matrix that are made at once: part of one item, or several small items.
struct Tile {
  std::int64_t item, items, begin, columns;
  std::int64_t width() const { return items * columns; }
};

class Tiling {
 public:
  /// `rows` of the patch matrix.
  Tiling(const ConvGeometry& g, std::int64_t rows, std::int64_t element_bytes)
      : batch_(g.batch), columns_(g.out_size()) {
    constexpr std::int64_t kCacheBytes = 1 << 19;
    const std::int64_t wanted =
        std::clamp<std::int64_t>(kCacheBytes / (rows * element_bytes), 96, 1024);
    if (columns_ >= wanted) {
      parts_ = divide_up(columns_, wanted);
      width_ = divide_up(divide_up(columns_, parts_), 16) * 16;
      parts_ = divide_up(columns_, width_);
    } else {
      items_ = std::min(batch_, wanted / columns_);
      width_ = columns_;
    }
  }
  std::int64_t count() const { return divide_up(batch_, items_) * parts_; }
  std::int64_t widest() const { return items_ * width_; }
  Tile operator[](std::int64_t i) const {
    const std::int64_t item = i / parts_ * items_;
    const std::int64_t begin = i % parts_ * width_;
    return {item, std::min(items_, batch_ - item), begin, std::min(width_, columns_ - begin)};
  }

 private:
  std::int64_t batch_, columns_;
  std::int64_t items_ = 1, parts_ = 1, width_ = 0;
};

// The patches of a tile over `channels` planes from plane `first` of every item; in `memory`,
// unless they are the input itself.
template <class T>
Matrix<T> patches(const ConvGeometry& g, const Tile& tile, const T* x, std::int64_t first,
                  std::int64_t channels, T* memory) {
  const std::int64_t item_size = g.groups * g.c_in * g.in_size();
  const T* from = x + tile.item * item_size + first * g.in_size();
  if (g.pointwise() && tile.items == 1) return {from + tile.begin, g.in_size()};
  for (std::int64_t i = 0; i < tile.items; ++i) {
    gather_patches(g, from + i * item_size, channels, tile.begin, tile.columns,
                   memory + i * tile.columns, tile.width());
  }
  return {memory, tile.width()};
}

// A range of output channels of one group over one tile: y = W patches + bias.
template <class T>
void forward_piece(const ConvGeometry& g, const Tile& tile, const Matrix<T>& columns,
                   const T* weight, const T* bias, std::int64_t first, std::int64_t channels, T* y,
                   T* memory) {
  const std::int64_t depth = g.c_in * g.taps();
  const std::int64_t size = g.out_size();
  const std::int64_t item_size = g.groups * g.c_out * size;
  T* to = y + tile.item * item_size + first * size + tile.begin;
  const bool direct = tile.items == 1;
  T* result = direct ? to : memory;
  const std::int64_t ld = direct ? size : tile.width();
  for (std::int64_t c = 0; bias != nullptr && c < channels; ++c) {
    std::fill_n(result + c * ld, tile.width(), bias[first + c]);
  }
  multiply<T>(g.bits, channels, tile.width(), depth, {weight + first * depth, depth}, columns,
              bias != nullptr, result, ld);
  if (direct) return;
  for (std::int64_t i = 0; i < tile.items; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) {
      std::copy_n(memory + c * ld + i * size, size, to + i * item_size + c * size);
    }
  }
}

template <class T>
void forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const T* weight,
             const T* bias, const Tensor& y) {
  const std::int64_t depth = g.c_in * g.taps();
  const Tiling tiling(g, depth, sizeof(T));
  // Where there are few tiles, output channels are divided too, and patches made more than once.
  const std::int64_t pieces = tiling.count() * g.groups;
  const std::int64_t blocks =
      pieces >= kFewConvPieces / 2
          ? 1
          : std::clamp<std::int64_t>(g.c_out / 64, 1, kFewConvPieces / pieces);
  const std::int64_t block = divide_up(g.c_out, blocks);
  pool.run(pieces * blocks, [&](std::int64_t piece) {
    const Tile tile = tiling[piece / blocks / g.groups];
    const std::int64_t group = piece / blocks % g.groups;
    const std::int64_t first = piece % blocks * block;
    if (first >= g.c_out) return;
    const std::int64_t channels = std::min(block, g.c_out - first);
    const Tensor memory = scratch<T>((depth + (tile.items > 1 ? channels : 0)) * tile.width(), y);
    const Matrix<T> columns =
        patches(g, tile, x.data<T>(), group * g.c_in, g.c_in, memory.data<T>());
    forward_piece(g, tile, columns, weight, bias, group * g.c_out + first, channels, y.data<T>(),
                  memory.data<T>() + depth * tile.width());
  });
}

// Weights of the convolution that takes dy to dx: channels swapped inside a group, taps reversed.
template <class T>
Tensor reversed_weight(const ConvGeometry& g, const Tensor& weight) {
  const Tensor result = Tensor::empty_like(weight);
  const std::int64_t taps = g.taps();
  const T* from = weight.data<T>();
  T* to = result.data<T>();
  for (std::int64_t group = 0; group < g.groups; ++group) {
    for (std::int64_t o = 0; o < g.c_out; ++o) {
      for (std::int64_t i = 0; i < g.c_in; ++i) {
        const T* kernel = from + ((group * g.c_out + o) * g.c_in + i) * taps;
        std::reverse_copy(kernel, kernel + taps, to + ((group * g.c_in + i) * g.c_out + o) * taps);
      }
    }
  }
  return result;
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
  ConvGeometry one = g;  // tiles of single items
  one.batch = 1;
  const Tiling tiling(one, block * taps, sizeof(T));
  pool.run(g.batch * g.groups * blocks, [&](std::int64_t piece) {
    const std::int64_t first = piece % blocks * block;
    if (first >= g.c_in) return;
    const std::int64_t channels = std::min(block, g.c_in - first);
    const std::int64_t plane = piece / blocks;  // item groups + group
    const T* from = dy.data<T>() + plane * g.c_out * g.out_size();
    T* to = dx.data<T>() + (plane * g.c_in + first) * g.in_size();
    const T* matrix = weight + plane % g.groups * g.c_out * depth + first * taps;
    const Tensor memory = scratch<T>(channels * taps * tiling.widest(), dx);
    std::fill_n(to, channels * g.in_size(), T{0});
    for (std::int64_t i = 0; i < tiling.count(); ++i) {
      const Tile tile = tiling[i];
      multiply<T>(g.bits, channels * taps, tile.columns, g.c_out, {matrix, depth, true},
                  {from + tile.begin, g.out_size()}, false, memory.data<T>(), tile.columns);
      scatter_patches(g, memory.data<T>(), tile.columns, channels, tile.begin, tile.columns, to);
    }
  });
}

// dy of one group over a tile as a matrix with one row per channel.
template <class T>
Matrix<T> output_rows(const ConvGeometry& g, const Tile& tile, const T* dy, std::int64_t group,
                      T* memory) {
  const std::int64_t size = g.out_size();
  const std::int64_t item_size = g.groups * g.c_out * size;
  const T* from = dy + tile.item * item_size + group * g.c_out * size;
  if (tile.items == 1) return {from + tile.begin, size};
  for (std::int64_t i = 0; i < tile.items; ++i) {
    for (std::int64_t c = 0; c < g.c_out; ++c) {
      std::copy_n(from + i * item_size + c * size, size, memory + c * tile.width() + i * size);
    }
  }
  return {memory, tile.width()};
}

// A piece is a chunk of the tiles, with a partial sum of its own, and a block of input channels,
// with columns of the weight of its own. Large weights have few chunks and many blocks.
template <class T>
void backward_weight(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& dy,
                     const Tensor& dweight) {
  const std::int64_t taps = g.taps();
  const std::int64_t depth = g.c_in * taps;
  const std::int64_t size = dweight.numel();
  const Tiling tiling(g, depth, sizeof(T));
  const std::int64_t pieces = conv_pieces(g, size);
  const Chunks cut(tiling.count(), size, pieces);
  const std::int64_t blocks =
      std::clamp<std::int64_t>(pieces / (cut.chunks * g.groups), 1, divide_up(g.c_in, 8));
  const std::int64_t block = divide_up(g.c_in, blocks);
  const Tensor parts = cut.chunks == 1 ? dweight : scratch<T>(cut.chunks * size, dweight);
  pool.run(cut.chunks * g.groups * blocks, [&](std::int64_t piece) {
    const std::int64_t first = piece % blocks * block;
    if (first >= g.c_in) return;
    const std::int64_t channels = std::min(block, g.c_in - first);
    const std::int64_t group = piece / blocks % g.groups;
    const std::int64_t part = piece / blocks / g.groups;
    const std::int64_t rows = channels * taps;
    const Tensor memory = scratch<T>((rows + g.c_out) * tiling.widest(), dweight);
    T* to = parts.data<T>() + part * size + group * g.c_out * depth + first * taps;
    for (std::int64_t i = part * cut.chunk; i < std::min(tiling.count(), (part + 1) * cut.chunk);
         ++i) {
      const Tile tile = tiling[i];
      const Matrix<T> columns =
          patches(g, tile, x.data<T>(), group * g.c_in + first, channels, memory.data<T>());
      const Matrix<T> gradient =
          output_rows(g, tile, dy.data<T>(), group, memory.data<T>() + rows * tile.width());
      multiply<T>(g.bits, g.c_out, rows, tile.width(), gradient, {columns.data, columns.ld, true},
                  i > part * cut.chunk, to, depth);
    }
  });
  if (cut.chunks > 1) sum_parts(pool, parts.data<T>(), cut.chunks, size, dweight.data<T>());
}

enum class Way { kDepthwise, kPointwise, kWinograd, kBlocked, kPatches };

template <class S>
Way way_for(const ConvGeometry& g, onednn::ConvPass pass) {
  if (g.depthwise()) return Way::kDepthwise;
  // Where the processor does not multiply bfloat16, float32 is faster.
  if (std::is_same_v<S, BFloat16> && !onednn::fast_bfloat16()) return Way::kPatches;
  if (is_large_pointwise(g)) return Way::kPointwise;
  if (std::is_same_v<S, float> && winograd_is_fast(g)) return Way::kWinograd;
  // oneDNN pads channels of x to a vector: for the gradients of one channel it computes sixteen.
  if (pass != onednn::ConvPass::kForward && g.groups == 1 && g.c_in == 1) return Way::kPatches;
  const bool blocked = !std::is_same_v<S, double> && g.bits == Bits::kOfSizes &&
                       blocked_is_fast(g, pass, kDTypeOf<S>);
  return blocked ? Way::kBlocked : Way::kPatches;
}

// oneDNN has layouts for float and BFloat16.
template <class S>
using Blocked = std::conditional_t<std::is_same_v<S, double>, float, S>;

Tensor widened(const CpuBackend& backend, const Tensor& x) {
  const Tensor wide = Tensor::empty(x.shape(), compute_dtype(x.dtype()), x.device());
  backend.cast(x, wide);
  return wide;
}

// relu(norm(x)) as a whole, for the ways that cannot make it piece by piece.
Tensor whole(const CpuBackend& backend, const NormedMap& x) {
  if (!x.norm.mean.defined()) return x.x;
  const Tensor made = Tensor::empty_like(x.x);
  backend.channel_norm(x, made);
  return made;
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
      case Way::kPatches:
        break;
    }
    if constexpr (std::is_same_v<S, C>) {
      forward<S>(pool_, g, x, weight.data<S>(), pbias, y);
    } else {
      const Tensor wide = Tensor::empty(y.shape(), kDTypeOf<C>, y.device());
      conv(args, widened(*this, x), weight, bias, wide);
      cast(wide, y);
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
      case Way::kPatches:
        break;
    }
    if constexpr (!std::is_same_v<S, C>) {
      const Tensor wide = Tensor::empty(dx.shape(), kDTypeOf<C>, dx.device());
      conv_backward_data(args, weight, widened(*this, dy), wide);
      cast(wide, dx);
    } else if (g.unit_stride() && 4 * g.c_in > g.c_out) {
      const Tensor back = reversed_weight<S>(g, weight);
      forward<S>(pool_, reversed(g), dy, back.template data<S>(), nullptr, dx);
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
      case Way::kPatches:
        break;
    }
    if constexpr (std::is_same_v<S, Compute<S>>) {
      backward_weight<S>(pool_, g, whole(*this, x), dy, dweight);
    } else {
      conv_backward_weight(args, widened(*this, whole(*this, x)), widened(*this, dy), dweight);
    }
  });
}

}  // namespace fovea::cpu
