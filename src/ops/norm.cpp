#include "ops/norm.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/relevance.h"

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

// Finishes a norm, whose result can be made again. What its kernel read, and its statistics, a
// number a row, stay in `args`.
template <class Args>
Tensor normalised(Op& op, Args& args, void (Backend::*kernel)(const Args&) const) {
  const Shape rows = args.x.shape().part(0, args.x.rank() - 1);
  args.rstd = Tensor::empty(rows, compute_dtype(args.x.dtype()), args.x.device());
  if constexpr (requires { args.mean; }) args.mean = Tensor::empty_like(args.rstd);
  const auto run = [kernel](Args with_result) {
    with_result.y = Tensor::empty_like(with_result.x);
    (backend(with_result.x).*kernel)(with_result);
    return with_result.y;
  };
  Tensor y = run(args);
  args.x = op.keep(args.x);
  args.weight = op.keep(args.weight);
  if constexpr (requires { args.bias; }) args.bias = op.keep(args.bias);
  op.remake([run, args] { return run(args); });
  return y;
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_affine("layer_norm", x, weight);
  check_affine("layer_norm", x, bias);
  Op op("layer_norm", {x, weight, bias});
  LayerNormArgs args{
      .eps = eps, .x = x, .weight = weight, .bias = bias, .y = {}, .mean = {}, .rstd = {}};
  const Tensor y = normalised(op, args, &Backend::layer_norm);
  if (relevance::applies()) {
    return op.output(y, [args](const Tensor& dy, Gradients& in) {
      in.add(0, relevance::through_norm(dy, args.weight, args.rstd, true));
    });
  }
  return op.output(y, [args](const Tensor& dy, Gradients& in) {
    Tensor dx = in.empty(0);
    Tensor dweight = in.empty(1);
    Tensor dbias = in.empty(2);
    backend(dy).layer_norm_backward({.x = args.x,
                                     .weight = args.weight,
                                     .mean = args.mean,
                                     .rstd = args.rstd,
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
  RmsNormArgs args{.eps = eps, .x = x, .weight = weight, .y = {}, .rstd = {}};
  const Tensor y = normalised(op, args, &Backend::rms_norm);
  if (relevance::applies()) {
    return op.output(y, [args](const Tensor& dy, Gradients& in) {
      in.add(0, relevance::through_norm(dy, args.weight, args.rstd, false));
    });
  }
  return op.output(y, [args](const Tensor& dy, Gradients& in) {
    Tensor dx = in.empty(0);
    Tensor dweight = in.empty(1);
    backend(dy).rms_norm_backward({.x = args.x,
                                   .weight = args.weight,
                                   .rstd = args.rstd,
                                   .dy = dy,
                                   .dx = dx,
                                   .dweight = dweight});
    in.add(0, std::move(dx));
    in.add(1, std::move(dweight));
  });
}

}  // namespace fovea::ops
