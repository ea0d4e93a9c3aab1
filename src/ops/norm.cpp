#include "ops/norm.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

void check_affine(const char* name, const Tensor& x, const Tensor& parameter) {
  FOVEA_CHECK(
      x.rank() >= 1 && x.size(-1) > 0, ShapeError,
      fmt::format("{}: x is {}; expected a last axis with elements", name, to_string(x.shape())));
  FOVEA_CHECK(!parameter.defined() || parameter.shape() == Shape{x.size(-1)}, ShapeError,
              fmt::format("{}: weight or bias is {}; expected ({})", name,
                          parameter.defined() ? to_string(parameter.shape()) : "none", x.size(-1)));
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_affine("layer_norm", x, weight);
  check_affine("layer_norm", x, bias);
  Op op("layer_norm", {x, weight, bias});
  const Shape rows = x.shape().part(0, x.rank() - 1);
  const Tensor mean = Tensor::empty(rows, compute_dtype(x.dtype()), x.device());
  const Tensor rstd = Tensor::empty(rows, compute_dtype(x.dtype()), x.device());
  Tensor y = Tensor::empty_like(x);
  LayerNormArgs args{
      .eps = eps, .x = x, .weight = weight, .bias = bias, .y = y, .mean = mean, .rstd = rstd};
  backend(x).layer_norm(args);
  args.x = op.keep(x);
  args.weight = op.keep(weight);
  args.bias = op.keep(bias);
  args.y = {};
  op.remake([args] {
    LayerNormArgs again = args;
    again.y = Tensor::empty_like(args.x);
    backend(args.x).layer_norm(again);
    return again.y;
  });
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    Tensor dx = in.empty(0);
    Tensor dweight = in.empty(1);
    Tensor dbias = in.empty(2);
    backend(dy).layer_norm_backward({.x = args.x,
                                     .weight = args.weight,
                                     .mean = mean,
                                     .rstd = rstd,
                                     .dy = dy,
                                     .dx = dx,
                                     .dweight = dweight,
                                     .dbias = dbias});
    in.add(0, std::move(dx));
    in.add(1, std::move(dweight));
    in.add(2, std::move(dbias));
  });
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  check_affine("rms_norm", x, weight);
  Op op("rms_norm", {x, weight});
  const Tensor rstd =
      Tensor::empty(x.shape().part(0, x.rank() - 1), compute_dtype(x.dtype()), x.device());
  Tensor y = Tensor::empty_like(x);
  RmsNormArgs args{.eps = eps, .x = x, .weight = weight, .y = y, .rstd = rstd};
  backend(x).rms_norm(args);
  args.x = op.keep(x);
  args.weight = op.keep(weight);
  args.y = {};
  op.remake([args] {
    RmsNormArgs again = args;
    again.y = Tensor::empty_like(args.x);
    backend(args.x).rms_norm(again);
    return again.y;
  });
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    Tensor dx = in.empty(0);
    Tensor dweight = in.empty(1);
    backend(dy).rms_norm_backward(
        {.x = args.x, .weight = args.weight, .rstd = rstd, .dy = dy, .dx = dx, .dweight = dweight});
    in.add(0, std::move(dx));
    in.add(1, std::move(dweight));
  });
}

}  // namespace fovea::ops
