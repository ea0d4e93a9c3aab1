#include "ops/elementwise.h"

#include <fmt/format.h>

#include <utility>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/activation.h"
#include "ops/create.h"
#include "ops/in_place.h"
#include "ops/reduce.h"
#include "ops/relevance.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

// What the derivative of a function is computed from (UnaryOp): that alone is kept.
enum class From { kInput, kResult, kBoth };

Tensor unary(const char* name, UnaryOp kind, Tensor x, From from, UnaryParams params = {}) {
  const bool spent = is_spent(x);
  Op op(name, {x});
  Tensor y = spent ? x : Tensor::empty_like(x);
  backend(x).unary(kind, params, x, y);
  const Tensor input = op.keep(x, from != From::kResult);
  const Tensor result = from == From::kInput ? input : op.keep_result(y);
  return op.output(
      y, [=, input = input.defined() ? input : result](const Tensor& dy, Gradients& in) {
        Tensor dx = in.empty(0);
        backend(dy).unary_backward(
            {.op = kind, .params = params, .x = input, .y = result, .dy = dy, .dx = dx});
        in.add(0, std::move(dx));
      });
}

// The same for functions that networks have between their layers.
Tensor activation(const char* name, UnaryOp kind, Tensor x, From from, UnaryParams params = {}) {
  if (!relevance::applies()) return unary(name, kind, std::move(x), from, params);
  return relevance::by_ratio(name, x, unary(name, kind, x.detach(), from, params));
}

void check_same_dtype(const char* name, const Tensor& a, const Tensor& b) {
  FOVEA_CHECK(a.dtype() == b.dtype(), ShapeError,
              fmt::format("{}: dtypes differ: {} and {}; expected equal ones", name,
                          name_of(a.dtype()), name_of(b.dtype())));
}

// Kernel without a graph; used by forward and backward of the arithmetic below. `over`: an operand
// that becomes the result where it has its shape and dtype; or undefined.
Tensor raw_binary(const char* name, BinaryOp kind, const Tensor& a, const Tensor& b,
                  const Tensor& over = {}) {
  check_same_dtype(name, a, b);
  const DType dtype = kind >= BinaryOp::kEqual ? DType::kUint8 : a.dtype();
  const Shape shape = broadcast(a.shape(), b.shape(), name);
  const bool fits = over.defined() && over.shape() == shape && over.dtype() == dtype;
  Tensor y = fits ? over : Tensor::empty(shape, dtype, a.device());
  backend(a).binary(kind, a, b, y);
  return y;
}

Tensor raw_mul(const Tensor& a, const Tensor& b) { return raw_binary("mul", BinaryOp::kMul, a, b); }

Tensor compare(const char* name, BinaryOp kind, const Tensor& a, const Tensor& b) {
  Op op(name, {a, b});
  return op.output(raw_binary(name, kind, a, b), {});
}

// dy where `first` is (not) larger, half where equal.
Tensor extremum_gradient(const Tensor& mine, const Tensor& other, const Tensor& dy, bool maximum) {
  const Tensor wins =
      raw_binary("maximum", maximum ? BinaryOp::kGreater : BinaryOp::kLess, mine, other);
  const Tensor ties = raw_binary("maximum", BinaryOp::kEqual, mine, other);
  const Tensor zero = zeros(Shape{}, dy.dtype(), dy.device());
  const Tensor half = mul(dy, 0.5);
  return where(wins, dy, where(ties, half, zero));
}

Tensor extremum(const char* name, BinaryOp kind, const Tensor& left, const Tensor& right) {
  const Tensor a = as_activation(left, right);
  const Tensor b = as_activation(right, left);
  Op op(name, {a, b});
  const bool maximum = kind == BinaryOp::kMax;
  return op.output(raw_binary(name, kind, a, b),
                   [=, a = op.keep(a), b = op.keep(b)](const Tensor& dy, Gradients& in) {
                     if (in.wanted(0))
                       in.add(0, reduce_to(extremum_gradient(a, b, dy, maximum), a.shape()));
                     if (in.wanted(1))
                       in.add(1, reduce_to(extremum_gradient(b, a, dy, maximum), b.shape()));
                   });
}

Tensor drop(const char* name, const Tensor& x, double p, std::int64_t block,
            const RandomStream& random) {
  FOVEA_CHECK(p >= 0 && p < 1, ShapeError,
              fmt::format("{}: probability is {}; expected 0 <= p < 1", name, p));
  if (p == 0 || x.numel() == 0) return x;
  Op op(name, {x});
  const DropoutArgs args{.key = random.key(), .p = p, .block = block};
  Tensor y = Tensor::empty_like(x);
  backend(x).dropout(args, x, y);
  // The mask is drawn again in backward instead of being kept.
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    Tensor dx = Tensor::empty_like(dy);
    backend(dy).dropout(args, dy, dx);
    in.add(0, std::move(dx));
  });
}

}  // namespace

Tensor add(Tensor left, Tensor right) {
  const Tensor over = is_spent(right) ? right : is_spent(left) ? left : Tensor();
  const Tensor a = as_activation(left, right);
  const Tensor b = as_activation(right, left);
  Op op("add", {a, b});
  const Shape shape_a = a.shape();
  const Shape shape_b = b.shape();
  if (shape_a == shape_b) op.moves(autograd::Moved::kForward);
  return op.output(raw_binary("add", BinaryOp::kAdd, a, b, over),
                   [=](const Tensor& dy, Gradients& in) {
                     if (in.wanted(0)) in.add(0, reduce_to(dy, shape_a));
                     if (in.wanted(1)) in.add(1, reduce_to(dy, shape_b));
                   });
}

Tensor sub(const Tensor& left, const Tensor& right) {
  const Tensor a = as_activation(left, right);
  const Tensor b = as_activation(right, left);
  Op op("sub", {a, b});
  const Shape shape_a = a.shape();
  const Shape shape_b = b.shape();
  return op.output(raw_binary("sub", BinaryOp::kSub, a, b), [=](const Tensor& dy, Gradients& in) {
    if (in.wanted(0)) in.add(0, reduce_to(dy, shape_a));
    if (in.wanted(1)) in.add(1, neg(reduce_to(dy, shape_b)));
  });
}

Tensor mul(const Tensor& left, const Tensor& right) {
  const Tensor a = as_activation(left, right);
  const Tensor b = as_activation(right, left);
  Op op("mul", {a, b});
  return op.output(raw_mul(a, b),
                   [shape_a = a.shape(), shape_b = b.shape(), a = op.keep(a, b.requires_grad()),
                    b = op.keep(b, a.requires_grad()),
                    share = relevance::share_of_product(a, b)](const Tensor& whole, Gradients& in) {
                     const Tensor dy = share == 1 ? whole : mul(whole, share);
                     if (in.wanted(0)) in.add(0, reduce_to(raw_mul(dy, b), shape_a));
                     if (in.wanted(1)) in.add(1, reduce_to(raw_mul(dy, a), shape_b));
                   });
}

Tensor div(const Tensor& left, const Tensor& right) {
  const Tensor a = as_activation(left, right);
  const Tensor b = as_activation(right, left);
  if (b.requires_grad()) relevance::refuse("a division by a computed tensor");
  Op op("div", {a, b});
  const Tensor y = raw_binary("div", BinaryOp::kDiv, a, b);
  const Tensor saved = b.requires_grad() ? op.keep_result(y) : Tensor();
  return op.output(y, [=, shape_a = a.shape(), b = op.keep(b)](const Tensor& dy, Gradients& in) {
    const Tensor da = raw_binary("div", BinaryOp::kDiv, dy, b);
    if (in.wanted(1)) in.add(1, neg(reduce_to(raw_mul(da, saved), b.shape())));
    if (in.wanted(0)) in.add(0, reduce_to(da, shape_a));
  });
}

Tensor add_product(const Tensor& c, Tensor left, const Tensor& right, bool counted) {
  const Tensor over = is_spent(left) ? left : Tensor();
  const Tensor a = as_activation(left, right);
  const Tensor b = as_activation(right, left);
  Op op("add_product", {c, a, b});
  FOVEA_CHECK(
      broadcast(a.shape(), b.shape(), "add_product") == c.shape(), ShapeError,
      fmt::format("add_product: c is {}, a is {}, b is {}; expected a and b to stretch to c",
                  to_string(c.shape()), to_string(a.shape()), to_string(b.shape())));
  check_same_dtype("add_product", c, a);
  Tensor y = raw_binary("mul", BinaryOp::kMul, a, b, over);
  backend(y).axpy(1, c, y);
  if (counted) op.macs(y.numel());
  return op.output(y, [shape_a = a.shape(), shape_b = b.shape(), a = op.keep(a, b.requires_grad()),
                       b = op.keep(b, a.requires_grad()),
                       share = relevance::share_of_product(a, b)](const Tensor& dy, Gradients& in) {
    const Tensor part = share == 1 ? dy : mul(dy, share);
    if (in.wanted(1)) in.add(1, reduce_to(raw_mul(part, b), shape_a));
    if (in.wanted(2)) in.add(2, reduce_to(raw_mul(part, a), shape_b));
    in.add(0, dy);
  });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return extremum("maximum", BinaryOp::kMax, a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return extremum("minimum", BinaryOp::kMin, a, b);
}

Tensor affine(Tensor x, double a, double b) {
  const bool spent = is_spent(x);
  Op op("affine", {x});
  Tensor y = spent ? x : Tensor::empty_like(x);
  backend(x).unary(UnaryOp::kAffine, {a, b}, x, y);
  return op.output(y, [a](const Tensor& dy, Gradients& in) {
    Tensor dx = Tensor::empty_like(dy);
    backend(dy).unary(UnaryOp::kAffine, {a, 0}, dy, dx);
    in.add(0, std::move(dx));
  });
}

Tensor exp(Tensor x) { return unary("exp", UnaryOp::kExp, std::move(x), From::kResult); }
Tensor log(Tensor x) { return unary("log", UnaryOp::kLog, std::move(x), From::kInput); }
Tensor log1p(Tensor x) { return unary("log1p", UnaryOp::kLog1p, std::move(x), From::kInput); }
Tensor expm1(Tensor x) { return unary("expm1", UnaryOp::kExpm1, std::move(x), From::kResult); }
Tensor sqrt(Tensor x) { return unary("sqrt", UnaryOp::kSqrt, std::move(x), From::kResult); }
Tensor rsqrt(Tensor x) { return unary("rsqrt", UnaryOp::kRsqrt, std::move(x), From::kResult); }
Tensor reciprocal(Tensor x) {
  return unary("reciprocal", UnaryOp::kReciprocal, std::move(x), From::kResult);
}
Tensor square(Tensor x) { return unary("square", UnaryOp::kSquare, std::move(x), From::kInput); }
Tensor pow(Tensor x, double exponent) {
  return unary("pow", UnaryOp::kPow, std::move(x), From::kInput, {exponent, 0});
}
Tensor abs(Tensor x) { return unary("abs", UnaryOp::kAbs, std::move(x), From::kInput); }
Tensor clamp(Tensor x, double low, double high) {
  FOVEA_CHECK(low <= high, ShapeError, fmt::format("clamp: low {} is above high {}", low, high));
  return unary("clamp", UnaryOp::kClamp, std::move(x), From::kInput, {low, high});
}
Tensor sin(Tensor x) { return unary("sin", UnaryOp::kSin, std::move(x), From::kInput); }
Tensor cos(Tensor x) { return unary("cos", UnaryOp::kCos, std::move(x), From::kInput); }
Tensor tanh(Tensor x) { return activation("tanh", UnaryOp::kTanh, std::move(x), From::kResult); }
Tensor sigmoid(Tensor x) {
  return activation("sigmoid", UnaryOp::kSigmoid, std::move(x), From::kResult);
}
Tensor erf(Tensor x) { return unary("erf", UnaryOp::kErf, std::move(x), From::kInput); }
Tensor relu(Tensor x) { return activate({.kind = UnaryOp::kRelu}, std::move(x)); }
Tensor leaky_relu(const Tensor& x, double slope) {
  return add(mul(x, slope), mul(relu(x), 1 - slope));
}
Tensor gelu(Tensor x) { return activate({.kind = UnaryOp::kGelu}, std::move(x)); }
Tensor gelu_tanh(Tensor x) { return activate({.kind = UnaryOp::kGeluTanh}, std::move(x)); }
Tensor quick_gelu(Tensor x) { return activate({.kind = UnaryOp::kQuickGelu}, std::move(x)); }
Tensor silu(Tensor x) { return activate({.kind = UnaryOp::kSilu}, std::move(x)); }
Tensor elu(Tensor x, double alpha) {
  return activation("elu", UnaryOp::kElu, std::move(x), From::kBoth, {alpha, 0});
}
Tensor softplus(Tensor x) {
  return activation("softplus", UnaryOp::kSoftplus, std::move(x), From::kInput);
}

Tensor swiglu(const Tensor& x, bool gate_last) {
  return activate({.kind = UnaryOp::kSilu, .gated = true, .gate_last = gate_last}, x);
}

Tensor swiglu(const Tensor& a, const Tensor& b) {
  check_same_dtype("swiglu", a, b);
  FOVEA_CHECK(a.shape() == b.shape(), ShapeError,
              fmt::format("swiglu: a is {}, b is {}; expected equal shapes", to_string(a.shape()),
                          to_string(b.shape())));
  if (relevance::applies()) return mul(silu(a), b);
  Op op("swiglu", {a, b});
  const auto forward = [](const Tensor& x, const Tensor& other) {
    Tensor y = Tensor::empty_like(x);
    backend(x).gated({}, x, other, y);
    return y;
  };
  const Tensor y = forward(a, b);
  const autograd::Kept gate = op.keep_or_remake(a);
  const autograd::Kept other = op.keep_or_remake(b);
  op.remake([=] { return forward(gate.get(), other.get()); });
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    // Where no other tensor holds dy, a gradient is written over it.
    Tensor da = dy.unique_storage() ? dy : Tensor::empty_like(dy);
    Tensor db = Tensor::empty_like(dy);
    backend(dy).gated_backward({}, gate.get(), other.get(), dy, da, db);
    if (in.wanted(0)) in.add(0, std::move(da));
    if (in.wanted(1)) in.add(1, std::move(db));
  });
}

Tensor equal(const Tensor& a, const Tensor& b) { return compare("equal", BinaryOp::kEqual, a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) {
  return compare("not_equal", BinaryOp::kNotEqual, a, b);
}
Tensor less(const Tensor& a, const Tensor& b) { return compare("less", BinaryOp::kLess, a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) {
  return compare("less_equal", BinaryOp::kLessEqual, a, b);
}
Tensor greater(const Tensor& a, const Tensor& b) {
  return compare("greater", BinaryOp::kGreater, a, b);
}
Tensor greater_equal(const Tensor& a, const Tensor& b) {
  return compare("greater_equal", BinaryOp::kGreaterEqual, a, b);
}

Tensor is_finite(const Tensor& x) {
  Op op("is_finite", {x});
  Tensor y = Tensor::empty(x.shape(), DType::kUint8, x.device());
  backend(x).unary(UnaryOp::kIsFinite, {}, x, y);
  return op.output(y, {});
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_same_dtype("where", a, b);
  FOVEA_CHECK(condition.dtype() == DType::kUint8, ShapeError,
              fmt::format("where: condition is {}; expected uint8", name_of(condition.dtype())));
  Op op("where", {a, b, condition});
  const Shape shape =
      broadcast(broadcast(a.shape(), b.shape(), "where"), condition.shape(), "where");
  Tensor y = Tensor::empty(shape, a.dtype(), a.device());
  backend(a).where(condition, a, b, y);
  return op.output(y, [shape_a = a.shape(), shape_b = b.shape(), condition = op.keep(condition)](
                          const Tensor& dy, Gradients& in) {
    const Tensor zero = zeros(Shape{}, dy.dtype(), dy.device());
    if (in.wanted(0)) in.add(0, reduce_to(where(condition, dy, zero), shape_a));
    if (in.wanted(1)) in.add(1, reduce_to(where(condition, zero, dy), shape_b));
  });
}

Tensor dropout(const Tensor& x, double p, const RandomStream& random) {
  return drop("dropout", x, p, 1, random);
}

Tensor drop_path(const Tensor& x, double p, const RandomStream& random) {
  FOVEA_CHECK(x.rank() >= 1, ShapeError, "drop_path: x is a scalar; expected a batch axis");
  return drop("drop_path", x, p, x.shape().part(1, x.rank()).numel(), random);
}

Tensor as_activation(const Tensor& x, const Tensor& activations) {
  const bool meets = x.dtype() == DType::kFloat32 && activations.dtype() == DType::kBFloat16;
  return meets ? cast(x, DType::kBFloat16) : x;
}

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Op op("cast", {x});
  Tensor y = Tensor::empty(x.shape(), dtype, x.device());
  backend(x).cast(x, y);
  if (!is_floating(dtype)) return op.output(y, {});
  return op.output(y, [from = x.dtype()](const Tensor& dy, Gradients& in) {
    Tensor dx = Tensor::empty(dy.shape(), from, dy.device());
    backend(dy).cast(dy, dx);
    in.add(0, std::move(dx));
  });
}

Tensor to(const Tensor& x, const Device& device) {
  if (x.device().is(device)) return x;
  Op op("to", {x});
  return op.output(x.copy_on(device), [home = x.device()](const Tensor& dy, Gradients& in) {
    in.add(0, dy.copy_on(home));
  });
}

}  // namespace fovea::ops
