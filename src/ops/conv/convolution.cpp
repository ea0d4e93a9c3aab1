#include "ops/conv/convolution.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/conv/spatial.h"
#include "ops/normed_map.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

// A convolution of at most so many multiply-adds an element makes its result again if asked to.
constexpr std::int64_t kRemakeMacs = 256;

ConvArgs conv_args(const char* op, const ConvOptions& options, int axes) {
  FOVEA_CHECK(options.groups >= 1, ShapeError,
              fmt::format("{}: groups is {}; expected at least 1", op, options.groups));
  return {per_axis(op, "stride", options.stride, axes, 1),
          per_axis(op, "padding", options.padding, axes, 0),
          per_axis(op, "dilation", options.dilation, axes, 1), options.groups};
}

void check_weight(const char* op, const Tensor& x, const Tensor& weight, std::int64_t groups) {
  FOVEA_CHECK(weight.rank() == x.rank(), ShapeError,
              fmt::format("{}: x is {}, weight is {}; expected as many axes", op,
                          to_string(x.shape()), to_string(weight.shape())));
  const DType dtype = compute_dtype(x.dtype());
  FOVEA_CHECK(weight.dtype() == dtype, ShapeError,
              fmt::format("{}: x is {}, weight is {}; expected weight {}", op, name_of(x.dtype()),
                          name_of(weight.dtype()), name_of(dtype)));
  for (int axis = 0; axis < weight.rank(); ++axis) {
    FOVEA_CHECK(
        weight.size(axis) > 0, ShapeError,
        fmt::format("{}: axis {} of weight {} is empty", op, axis, to_string(weight.shape())));
  }
  FOVEA_CHECK(x.size(1) % groups == 0 && weight.size(0) % groups == 0, ShapeError,
              fmt::format("{}: x is {}, weight is {}; channels are not divisible by groups {}", op,
                          to_string(x.shape()), to_string(weight.shape()), groups));
}

void check_bias(const char* op, const Tensor& x, const Tensor& bias, std::int64_t c_out) {
  const DType dtype = compute_dtype(x.dtype());
  FOVEA_CHECK(!bias.defined() || (bias.shape() == Shape{c_out} && bias.dtype() == dtype),
              ShapeError,
              fmt::format("{}: bias is {} {}; expected {} ({})", op, name_of(bias.dtype()),
                          to_string(bias.shape()), name_of(dtype), c_out));
}

std::int64_t spatial_size(const Tensor& x) { return x.shape().part(2, x.rank()).numel(); }

// Gradient of a bias: dy (b, c, spatial...) summed over all but c.
Tensor channel_sums(const Tensor& dy) {
  const std::int64_t c = dy.size(1);
  Tensor sums = Tensor::empty({c}, compute_dtype(dy.dtype()), dy.device());
  backend(dy).reduce(ReduceOp::kSum, dy.alias({dy.size(0), c, spatial_size(dy)}),
                     sums.alias({1, c, 1}));
  return sums;
}

// The gradient of a weight, from an input in memory or one that the kernel makes again as it reads.
void backward_weight(const ConvArgs& args, const autograd::Kept& x, const Tensor& dy,
                     const Tensor& dweight) {
  const auto* normed = x.made_by<RemakeNormed>();
  if (normed != nullptr && normed->map.groups == 0) {
    backend(dy).conv_norm_backward_weight(args, normed->map, dy, dweight);
  } else {
    backend(dy).conv_backward_weight(args, x.get(), dy, dweight);
  }
}

}  // namespace

Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  const int axes = check_spatial("conv", x);
  const ConvArgs args = conv_args("conv", options, axes);
  check_weight("conv", x, weight, args.groups);
  FOVEA_CHECK(weight.size(1) * args.groups == x.size(1), ShapeError,
              fmt::format("conv: x is {}, weight is {}, groups {}; expected weight ({}, {}, "
                          "kernel...)",
                          to_string(x.shape()), to_string(weight.shape()), args.groups,
                          weight.size(0), x.size(1) / args.groups));
  check_bias("conv", x, bias, weight.size(0));
  Shape shape{x.size(0), weight.size(0)};
  for (int axis = 0; axis < axes; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const std::int64_t reach = args.dilation[i] * (weight.size(axis + 2) - 1) + 1;
    const std::int64_t room = x.size(axis + 2) + 2 * args.padding[i];
    FOVEA_CHECK(room >= reach, ShapeError,
                fmt::format("conv: spatial axis {} of x {} is {} with padding; the kernel of "
                            "weight {} reaches over {}",
                            axis, to_string(x.shape()), room, to_string(weight.shape()), reach));
    shape.push_back((room - reach) / args.stride[i] + 1);
  }
  Op op("conv", {x, weight, bias});
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  backend(x).conv(args, x, weight, bias, y);
  op.macs(y.numel() * (weight.numel() / weight.size(0)));
  const bool keeps_all = x.requires_grad() && weight.requires_grad() && !bias.defined();
  autograd::Kept kept = op.keep_or_remake(x, weight.requires_grad());
  const Tensor kept_weight = op.keep(weight, x.requires_grad());
  if (keeps_all && weight.numel() / weight.size(0) <= kRemakeMacs) {
    const auto made = [args, shape, kept, kept_weight] {
      const Tensor input = kept.get();
      Tensor again = Tensor::empty(shape, input.dtype(), input.device());
      backend(again).conv(args, input, kept_weight, {}, again);
      return again;
    };
    op.remake(made, autograd::RemakeCost::kProduct);
  }
  return op.output(y, [=, kept = std::move(kept), weight = kept_weight](const Tensor& dy,
                                                                        Gradients& in) mutable {
    if (in.wanted(1)) {
      Tensor dweight = in.empty(1);
      backward_weight(args, kept, dy, dweight);
      in.add(1, std::move(dweight));
    }
    kept = {};  // the gradient of x may take its memory
    if (in.wanted(0)) {
      Tensor dx = in.empty(0);
      backend(dy).conv_backward_data(args, weight, dy, dx);
      in.add(0, std::move(dx));
    }
    if (in.wanted(2)) in.add(2, channel_sums(dy));
  });
}

// The gradient of a convolution with respect to its input, as an operation: x plays the part of
// that convolution's output and the result the part of its input.
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias,
                      const ConvOptions& options) {
  const int axes = check_spatial("conv_transpose", x);
  const ConvArgs args = conv_args("conv_transpose", options, axes);
  const Sizes extra = per_axis("conv_transpose", "output_padding", options.output_padding, axes, 0);
  check_weight("conv_transpose", x, weight, args.groups);
  FOVEA_CHECK(weight.size(0) == x.size(1), ShapeError,
              fmt::format("conv_transpose: x is {}, weight is {}; expected weight ({}, c_out / "
                          "groups, kernel...)",
                          to_string(x.shape()), to_string(weight.shape()), x.size(1)));
  const std::int64_t c_out = weight.size(1) * args.groups;
  check_bias("conv_transpose", x, bias, c_out);
  Shape shape{x.size(0), c_out};
  for (int axis = 0; axis < axes; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    FOVEA_CHECK(extra[i] < std::max(args.stride[i], args.dilation[i]), ShapeError,
                fmt::format("conv_transpose: output_padding {} is not below stride {} or "
                            "dilation {}",
                            extra[i], args.stride[i], args.dilation[i]));
    const std::int64_t size = (x.size(axis + 2) - 1) * args.stride[i] - 2 * args.padding[i] +
                              args.dilation[i] * (weight.size(axis + 2) - 1) + extra[i] + 1;
    FOVEA_CHECK(
        size >= 1, ShapeError,
        fmt::format("conv_transpose: x is {}, weight is {}, padding {}: the result would "
                    "have size {} on spatial axis {}",
                    to_string(x.shape()), to_string(weight.shape()), args.padding[i], size, axis));
    shape.push_back(size);
  }
  Op op("conv_transpose", {x, weight, bias});
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  backend(x).conv_backward_data(args, weight, x, y);
  if (bias.defined()) {
    Shape per_channel{c_out};
    for (int axis = 0; axis < axes; ++axis) per_channel.push_back(1);
    const Tensor stored = Tensor::empty(per_channel, y.dtype(), y.device());
    backend(x).cast(bias.alias(per_channel), stored);
    backend(x).binary(BinaryOp::kAdd, y, stored, y);
  }
  // Every element of x meets the whole kernel of its channel.
  op.macs(x.numel() * (weight.numel() / weight.size(0)));
  return op.output(
      y, [=, x = op.keep(x, weight.requires_grad()), weight = op.keep(weight, x.requires_grad())](
             const Tensor& dy, Gradients& in) {
        if (in.wanted(0)) {
          Tensor dx = in.empty(0);
          backend(dy).conv(args, dy, weight, {}, dx);
          in.add(0, std::move(dx));
        }
        if (in.wanted(1)) {
          Tensor dweight = in.empty(1);
          backend(dy).conv_backward_weight(args, dy, x, dweight);
          in.add(1, std::move(dweight));
        }
        if (in.wanted(2)) in.add(2, channel_sums(dy));
      });
}

}  // namespace fovea::ops
