#include "ops/norm.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/recompute.h"

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

Tensor gradient_for(bool wanted, const Tensor& like) {
  return wanted ? Tensor::empty_like(like) : Tensor();
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
  backend(x).layer_norm(eps, x, weight, bias, y, mean, rstd);
  op.recipe(recipe([=] {
    const Tensor again = Tensor::empty_like(x);
    backend(x).layer_norm(eps, x, weight, bias, again, mean, rstd);
    return again;
  }));
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    Tensor dx = gradient_for(in.wanted(0), x);
    Tensor dweight = gradient_for(in.wanted(1), weight);
    Tensor dbias = gradient_for(in.wanted(2), bias);
    backend(x).layer_norm_backward(x, weight, mean, rstd, dy, dx, dweight, dbias);
    if (dx.defined()) in.add(0, std::move(dx));
    if (dweight.defined()) in.add(1, std::move(dweight));
    if (dbias.defined()) in.add(2, std::move(dbias));
  });
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  check_affine("rms_norm", x, weight);
  Op op("rms_norm", {x, weight});
  const Tensor rstd =
      Tensor::empty(x.shape().part(0, x.rank() - 1), compute_dtype(x.dtype()), x.device());
  Tensor y = Tensor::empty_like(x);
  backend(x).rms_norm(eps, x, weight, y, rstd);
  op.recipe(recipe([=] {
    const Tensor again = Tensor::empty_like(x);
    backend(x).rms_norm(eps, x, weight, again, rstd);
    return again;
  }));
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    Tensor dx = gradient_for(in.wanted(0), x);
    Tensor dweight = gradient_for(in.wanted(1), weight);
    backend(x).rms_norm_backward(x, weight, rstd, dy, dx, dweight);
    if (dx.defined()) in.add(0, std::move(dx));
    if (dweight.defined()) in.add(1, std::move(dweight));
  });
}

}  // namespace fovea::ops
