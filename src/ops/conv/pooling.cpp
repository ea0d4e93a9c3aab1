// Pooling and resizing (ops/conv/convolution.h).
#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/conv/convolution.h"
#include "ops/conv/spatial.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

Shape with_spatial(const Tensor& x, const Sizes& sizes) {
  Shape shape{x.size(0), x.size(1)};
  for (const std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

Tensor pool(const char* name, const PoolArgs& args, const Tensor& x, const Shape& shape) {
  Op op(name, {x});
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  Tensor argmax;
  if (args.kind == PoolKind::kMax && op.records()) {
    argmax = Tensor::empty(shape, DType::kInt64, x.device());
  }
  backend(x).pool(args, x, y, argmax);
  const std::int64_t places = x.shape().part(2, x.rank()).numel();
  if (args.adaptive && args.kind == PoolKind::kAverage && y.numel() == x.size(0) * x.size(1)) {
    // The gradient of means over whole planes: one number for each, added in place.
    return op.output(y, [=](const Tensor& dy, Gradients& in) {
      const Tensor share = Tensor::empty_like(dy);
      backend(dy).unary(UnaryOp::kAffine, {1 / static_cast<double>(places), 0}, dy, share);
      const Tensor sum = in.buffer(0);
      backend(dy).binary(BinaryOp::kAdd, sum, share, sum);
    });
  }
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    Tensor dx = in.empty(0);
    backend(dy).pool_backward(args, dy, argmax, dx);
    in.add(0, std::move(dx));
  });
}

Tensor window_pool(const char* name, PoolKind kind, const Tensor& x, const Sizes& kernel,
                   const Sizes& stride, const Sizes& padding, bool count_include_pad) {
  const int axes = check_spatial(name, x);
  PoolArgs args;
  args.kind = kind;
  args.kernel = per_axis(name, "kernel", kernel, axes, 1);
  args.stride = stride.empty() ? args.kernel : per_axis(name, "stride", stride, axes, 1);
  args.padding = per_axis(name, "padding", padding, axes, 0);
  args.count_include_pad = count_include_pad;
  Sizes sizes;
  for (int axis = 0; axis < axes; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    // More would make windows that hold nothing but padding.
    FOVEA_CHECK(2 * args.padding[i] <= args.kernel[i], ShapeError,
                fmt::format("{}: padding {} is more than half of kernel {}", name, args.padding[i],
                            args.kernel[i]));
    const std::int64_t room = x.size(axis + 2) + 2 * args.padding[i];
    FOVEA_CHECK(room >= args.kernel[i], ShapeError,
                fmt::format("{}: spatial axis {} of x {} is {} with padding; kernel is {}", name,
                            axis, to_string(x.shape()), room, args.kernel[i]));
    sizes.push_back((room - args.kernel[i]) / args.stride[i] + 1);
  }
  return pool(name, args, x, with_spatial(x, sizes));
}

Tensor adaptive_pool(const char* name, PoolKind kind, const Tensor& x, const Sizes& output) {
  const int axes = check_spatial(name, x);
  PoolArgs args;
  args.kind = kind;
  args.adaptive = true;
  return pool(name, args, x, with_spatial(x, per_axis(name, "output", output, axes, 1)));
}

}  // namespace

Tensor max_pool(const Tensor& x, const Sizes& kernel, const Sizes& stride, const Sizes& padding) {
  return window_pool("max_pool", PoolKind::kMax, x, kernel, stride, padding, true);
}

Tensor avg_pool(const Tensor& x, const Sizes& kernel, const Sizes& stride, const Sizes& padding,
                bool count_include_pad) {
  return window_pool("avg_pool", PoolKind::kAverage, x, kernel, stride, padding, count_include_pad);
}

Tensor adaptive_avg_pool(const Tensor& x, const Sizes& output) {
  return adaptive_pool("adaptive_avg_pool", PoolKind::kAverage, x, output);
}

Tensor adaptive_max_pool(const Tensor& x, const Sizes& output) {
  return adaptive_pool("adaptive_max_pool", PoolKind::kMax, x, output);
}

Tensor resize(const Tensor& x, const Sizes& output, Interpolation mode, bool align_corners) {
  const int axes = check_spatial("resize", x);
  const Shape shape = with_spatial(x, per_axis("resize", "output", output, axes, 1));
  if (shape == x.shape()) return x;
  const ResizeArgs args{
      mode == Interpolation::kNearest ? ResizeMode::kNearest : ResizeMode::kLinear, align_corners};
  Op op("resize", {x});
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  backend(x).resize(args, x, y);
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    Tensor dx = in.empty(0);
    backend(dy).resize_backward(args, dy, dx);
    in.add(0, std::move(dx));
  });
}

}  // namespace fovea::ops
