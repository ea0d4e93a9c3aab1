// Convolution, pooling and resizing over 1 to 3 axes.
#include "backend/spatial.h"

#include "backend/gpu/launch.h"

namespace fovea::gpu {
namespace {

// Groups of fewer channels leave most of a square of PRODUCT_TILE empty.
constexpr std::int64_t kFewChannels = 8;
// A piece of the positions that a gradient of a weight is a sum over; a multiple of a tile's step.
constexpr std::int64_t kPositions = 2048;

void put(const Axes& axes, Index (&to)[3]) { std::copy(axes.begin(), axes.end(), to); }

ConvShape conv_shape(const ConvArgs& args, const Shape& x, const Shape& weight, const Shape& y) {
  ConvShape s{};
  put(spatial_axes(x), s.in);
  put(spatial_axes(y), s.out);
  put(spatial_axes(weight), s.kernel_size);
  put(three_axes(args.stride, 1), s.stride);
  put(three_axes(args.padding, 0), s.padding);
  put(three_axes(args.dilation, 1), s.dilation);
  s.batch = x[0];
  s.in_channels = x[1];
  s.out_channels = y[1];
  s.groups = args.groups;
  return s;
}

PoolShape pool_shape(const PoolArgs& args, const Shape& x, const Shape& y, bool writes_argmax) {
  PoolShape s{};
  put(spatial_axes(x), s.in);
  put(spatial_axes(y), s.out);
  put(three_axes(args.kernel, 1), s.kernel_size);
  put(three_axes(args.stride, 1), s.stride);
  put(three_axes(args.padding, 0), s.padding);
  s.planes = x[0] * x[1];
  s.average = args.kind == PoolKind::kAverage;
  s.count_padding = args.count_include_pad;
  s.adaptive = args.adaptive;
  s.writes_argmax = writes_argmax;
  return s;
}

ResizeShape resize_shape(const ResizeArgs& args, const Shape& x, const Shape& y) {
  ResizeShape s{};
  put(spatial_axes(x), s.in);
  put(spatial_axes(y), s.out);
  s.planes = x[0] * x[1];
  s.linear = args.mode == ResizeMode::kLinear;
  s.align_corners = args.align_corners;
  return s;
}

}  // namespace

void GpuBackend::conv(const ConvArgs& args, const Tensor& x, const Tensor& weight,
                      const Tensor& bias, const Tensor& y) const {
  if (runtime_->conv(ConvResult::kOutput, args, x, weight, y)) {
    if (!bias.defined()) return;
    Shape across(std::vector<std::int64_t>(static_cast<std::size_t>(y.rank()), 1));
    across[1] = bias.numel();
    const Tensor added = Tensor::empty(across, y.dtype(), y.device());
    cast(bias, added);
    return binary(BinaryOp::kAdd, y, added, y);
  }
  const ConvShape s = conv_shape(args, x.shape(), weight.shape(), y.shape());
  const std::int64_t outputs = s.out_channels / s.groups;
  if (outputs < kFewChannels || y.numel() == 0) {
    launch_items(Kernel::conv, x.dtype(), y.numel(), s, x, weight, bias, y);
    return;
  }
  launch(Kernel::conv_product, x.dtype(),
         s.groups * product_tiles(outputs, y.numel() / s.out_channels), s, x, weight, bias, y);
}

void GpuBackend::conv_backward_data(const ConvArgs& args, const Tensor& weight, const Tensor& dy,
                                    const Tensor& dx) const {
  if (runtime_->conv(ConvResult::kInput, args, dx, weight, dy)) return;
  const ConvShape s = conv_shape(args, dx.shape(), weight.shape(), dy.shape());
  const std::int64_t inputs = s.in_channels / s.groups;
  if (inputs < kFewChannels || dx.numel() == 0) {
    launch_items(Kernel::conv_backward_data, dx.dtype(), dx.numel(), s, weight, dy, dx);
    return;
  }
  launch(Kernel::conv_product_data, dx.dtype(),
         s.groups * product_tiles(inputs, dx.numel() / s.in_channels), s, weight, dy, dx);
}

void GpuBackend::conv_backward_weight(const ConvArgs& args, const Tensor& x, const Tensor& dy,
                                      const Tensor& dweight) const {
  if (runtime_->conv(ConvResult::kWeight, args, x, dweight, dy)) return;
  const ConvShape s = conv_shape(args, x.shape(), dweight.shape(), dy.shape());
  const std::int64_t outputs = s.out_channels / s.groups;
  if (outputs < kFewChannels || dweight.numel() == 0 || dy.numel() == 0) {
    launch(Kernel::conv_backward_weight, x.dtype(), dweight.numel(), s, x, dy, dweight);
    return;
  }
  const std::int64_t positions = dy.numel() / s.out_channels;
  const std::int64_t pieces = (positions + kPositions - 1) / kPositions;
  const Tensor partial =
      Tensor::empty({pieces, dweight.numel()}, dweight.dtype(), dweight.device());
  launch(Kernel::conv_product_weight, x.dtype(),
         pieces * s.groups * product_tiles(outputs, dweight.numel() / s.out_channels), s,
         Index{kPositions}, x, dy, partial);
  reduce_run(ReduceOp::kSum, false, 1, 1, pieces, dweight.numel(), partial, dweight);
}

void GpuBackend::pool(const PoolArgs& args, const Tensor& x, const Tensor& y,
                      const Tensor& argmax) const {
  launch_items(Kernel::pool, x.dtype(), y.numel(),
               pool_shape(args, x.shape(), y.shape(), argmax.defined()), x, y, argmax);
}

void GpuBackend::pool_backward(const PoolArgs& args, const Tensor& dy, const Tensor& argmax,
                               const Tensor& dx) const {
  launch_items(Kernel::pool_backward, dx.dtype(), dx.numel(),
               pool_shape(args, dx.shape(), dy.shape(), false), dy, argmax, dx);
}

void GpuBackend::resize(const ResizeArgs& args, const Tensor& x, const Tensor& y) const {
  launch_items(Kernel::resize, x.dtype(), y.numel(), resize_shape(args, x.shape(), y.shape()), x,
               y);
}

void GpuBackend::resize_backward(const ResizeArgs& args, const Tensor& dy, const Tensor& dx) const {
  launch_items(Kernel::resize_backward, dx.dtype(), dx.numel(),
               resize_shape(args, dx.shape(), dy.shape()), dy, dx);
}

}  // namespace fovea::gpu
