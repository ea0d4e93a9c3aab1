#include "ops/activation.h"

#include <fmt/format.h>

#include "autograd/graph.h"

namespace fovea::ops {
namespace {

const char* name_of(const Activation& f) {
  if (f.gated) return f.kind == UnaryOp::kSilu ? "swiglu" : "gated";
  switch (f.kind) {
    case UnaryOp::kRelu:
      return "relu";
    case UnaryOp::kSilu:
      return "silu";
    case UnaryOp::kGeluTanh:
      return "gelu_tanh";
    default:
      return "gelu";
  }
}

}  // namespace

Tensor activation_forward(const Activation& f, const Tensor& x) {
  if (!f.gated) {
    Tensor y = Tensor::empty_like(x);
    backend(x).unary(f.kind, {}, x, y);
    return y;
  }
  FOVEA_CHECK(
      x.rank() >= 1 && x.size(-1) % 2 == 0, ShapeError,
      fmt::format("{}: x is {}; expected an even last axis", name_of(f), to_string(x.shape())));
  Shape half = x.shape();
  half[half.rank() - 1] /= 2;
  Tensor y = Tensor::empty(half, x.dtype(), x.device());
  backend(x).gated(f.kind, f.gate_last, x, y);
  return y;
}

Tensor activation_backward(const Activation& f, const Tensor& x, const Tensor& dy) {
  Tensor dx = Tensor::empty_like(x);
  if (f.gated) {
    backend(x).gated_backward(f.kind, f.gate_last, x, dy, dx);
  } else {
    backend(x).unary_backward(f.kind, {}, x, x, dy, dx);
  }
  return dx;
}

Tensor activate(const Activation& f, const Tensor& x) {
  autograd::Op op(name_of(f), {x});
  return op.output(activation_forward(f, x), [=](const Tensor& dy, autograd::Gradients& in) {
    in.add(0, activation_backward(f, x, dy));
  });
}

}  // namespace fovea::ops
