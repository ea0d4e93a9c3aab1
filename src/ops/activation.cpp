#include "ops/activation.h"

#include <fmt/format.h>

#include <utility>

#include "autograd/graph.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/relevance.h"
#include "ops/shape.h"

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
    case UnaryOp::kQuickGelu:
      return "quick_gelu";
    default:
      return "gelu";
  }
}

// `over`: x itself becomes the result.
Tensor forward(const Activation& f, const Tensor& x, bool over = false) {
  if (!f.gated) {
    Tensor y = over ? x : Tensor::empty_like(x);
    backend(x).unary(f.kind, {}, x, y);
    return y;
  }
  FOVEA_CHECK(
      x.rank() >= 1 && x.size(-1) % 2 == 0, ShapeError,
      fmt::format("{}: x is {}; expected an even last axis", name_of(f), to_string(x.shape())));
  Shape half = x.shape();
  half[half.rank() - 1] /= 2;
  Tensor y = Tensor::empty(half, x.dtype(), x.device());
  backend(x).gated({.op = f.kind, .gate_last = f.gate_last}, x, {}, y);
  return y;
}

// By the rules of relevance, a gated function as the product that it is.
Tensor activate_by_rule(const Activation& f, const Tensor& x) {
  if (!f.gated) return relevance::by_ratio(name_of(f), x, forward(f, x).detach());
  FOVEA_CHECK(
      x.rank() >= 1 && x.size(-1) % 2 == 0, ShapeError,
      fmt::format("{}: x is {}; expected an even last axis", name_of(f), to_string(x.shape())));
  const std::int64_t half = x.size(-1) / 2;
  const Tensor gate = slice(x, -1, f.gate_last ? half : 0, half);
  const Tensor other = slice(x, -1, f.gate_last ? 0 : half, half);
  return mul(activate_by_rule({.kind = f.kind}, gate), other);
}

}  // namespace

Tensor activate(const Activation& f, Tensor x) {
  if (relevance::applies()) return activate_by_rule(f, x);
  const bool spent = is_spent(x);
  autograd::Op op(name_of(f), {x});
  const Tensor y = forward(f, x, spent);
  // The result of a ReLU also says where it was open, and the next layer keeps it.
  const bool from_result = f.kind == UnaryOp::kRelu && !f.gated;
  const autograd::Kept kept =
      from_result ? autograd::Kept(op.keep_result(y)) : op.keep_or_remake(x);
  if (!from_result) op.remake([=] { return forward(f, kept.get()); });
  return op.output(y, [=](const Tensor& dy, autograd::Gradients& in) {
    const Tensor input = kept.get();
    // Where no other tensor holds dy, the gradient is written over it.
    Tensor dx = !f.gated && dy.unique_storage() ? dy : in.empty(0);
    if (f.gated) {
      backend(dy).gated_backward({.op = f.kind, .gate_last = f.gate_last}, input, {}, dy, dx, {});
    } else {
      backend(dy).unary_backward(
          {.op = f.kind, .params = {}, .x = input, .y = input, .dy = dy, .dx = dx});
    }
    in.add(0, std::move(dx));
  });
}

}  // namespace fovea::ops
