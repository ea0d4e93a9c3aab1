// Maps of one and two operands.
#include "types.h"
#include "operations.h"
#include "walk.h"
#include "group.h"

#define SQRT_HALF ((Real)0.70710678118654752440)
#define INV_SQRT_2PI ((Real)0.39894228040143267794)
#define TWO_INV_SQRT_PI ((Real)1.12837916709551257390)
#define SQRT_2_INV_PI ((Real)0.79788456080286535588)
#define QUICK_GELU ((Real)1.702)
#define GELU_CUBIC ((Real)0.044715)

// exp of a number that is not positive only, so nothing overflows.
FUNCTION Real sigmoid(Real x) {
  const Real e = exp(-fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
FUNCTION Real softplus(Real x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }
// |x|, but no further than where nothing is left of the normal distribution; and Phi(-|x|).
FUNCTION Real gaussian_size(Real x) { return fabs(x) > 37 ? (Real)37 : fabs(x); }
FUNCTION Real gaussian_beyond(Real size) { return (Real)0.5 * erfc(size * SQRT_HALF); }
// x Phi(x), and Phi(x) + x phi(x), for either sign from what is beyond |x|.
FUNCTION Real gelu(Real x) {
  const Real size = gaussian_size(x);
  return (x > 0 ? x : 0) - size * gaussian_beyond(size);
}
FUNCTION Real gelu_slope(Real x) {
  const Real size = gaussian_size(x);
  const Real below =
      gaussian_beyond(size) - size * INV_SQRT_2PI * exp((Real)-0.5 * size * size);
  return x < 0 ? below : 1 - below;
}
FUNCTION Real gelu_tanh_inner(Real x) {
  return tanh(SQRT_2_INV_PI * (x + GELU_CUBIC * x * x * x));
}

FUNCTION Real unary_value(Int32 op, Real a, Real b, Real x) {
  switch (op) {
    case UnaryAffine:
      return a * x + b;
    case UnaryExp:
      return exp(x);
    case UnaryLog:
      return log(x);
    case UnaryLog1p:
      return log1p(x);
    case UnaryExpm1:
      return expm1(x);
    case UnarySqrt:
      return sqrt(x);
    case UnaryRsqrt:
      return 1 / sqrt(x);
    case UnaryReciprocal:
      return 1 / x;
    case UnarySquare:
      return x * x;
    case UnaryPow:
      return pow(x, a);
    case UnaryAbs:
      return fabs(x);
    case UnarySign:
      return x > 0 ? (Real)1 : x < 0 ? (Real)-1 : x;
    case UnaryClamp:
      return x < a ? a : x > b ? b : x;
    case UnarySin:
      return sin(x);
    case UnaryCos:
      return cos(x);
    case UnaryTanh:
      return tanh(x);
    case UnarySigmoid:
      return sigmoid(x);
    case UnaryErf:
      return erf(x);
    case UnaryRelu:
      return x <= 0 ? (Real)0 : x;
    case UnaryGelu:
      return gelu(x);
    case UnaryGeluTanh:
      return (Real)0.5 * x * (1 + gelu_tanh_inner(x));
    case UnaryQuickGelu:
      return x * sigmoid(QUICK_GELU * x);
    case UnarySilu:
      return x * sigmoid(x);
    case UnaryElu:
      return x > 0 ? x : a * expm1(x);
    default:  // UnarySoftplus
      return softplus(x);
  }
}

// dy / dx; y is the value at x.
FUNCTION Real unary_slope(Int32 op, Real a, Real b, Real x, Real y) {
  switch (op) {
    case UnaryAffine:
      return a;
    case UnaryExp:
      return y;
    case UnaryLog:
      return 1 / x;
    case UnaryLog1p:
      return 1 / (1 + x);
    case UnaryExpm1:
      return y + 1;
    case UnarySqrt:
      return (Real)0.5 / y;
    case UnaryRsqrt:
      return (Real)-0.5 * y * y * y;
    case UnaryReciprocal:
      return -(y * y);
    case UnarySquare:
      return x + x;
    case UnaryPow:
      return a == 0 ? (Real)0 : a * pow(x, a - 1);
    case UnaryAbs:
      return x > 0 ? (Real)1 : x < 0 ? (Real)-1 : (Real)0;
    case UnarySign:
      return 0;
    case UnaryClamp:
      return x >= a && x <= b ? (Real)1 : (Real)0;
    case UnarySin:
      return cos(x);
    case UnaryCos:
      return -sin(x);
    case UnaryTanh:
      return 1 - y * y;
    case UnarySigmoid:
      return y * (1 - y);
    case UnaryErf:
      return TWO_INV_SQRT_PI * exp(-x * x);
    case UnaryRelu:
      return x > 0 ? (Real)1 : (Real)0;
    case UnaryGelu:
      return gelu_slope(x);
    case UnaryGeluTanh: {
      const Real t = gelu_tanh_inner(x);
      const Real inner = SQRT_2_INV_PI * (1 + 3 * GELU_CUBIC * x * x);
      return (Real)0.5 * (1 + t) + (Real)0.5 * x * (1 - t * t) * inner;
    }
    case UnaryQuickGelu: {
      const Real s = sigmoid(QUICK_GELU * x);
      return s * (1 + QUICK_GELU * x * (1 - s));
    }
    case UnarySilu: {
      const Real s = sigmoid(x);
      return s * (1 + x * (1 - s));
    }
    case UnaryElu:
      return x > 0 ? (Real)1 : y + a;
    default:  // UnarySoftplus
      return sigmoid(x);
  }
}

KERNEL unary(Index n, Int32 op, Real a, Real b, TENSOR(const Stored, x), TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(Stored, y);
  if (ITEM < n) store(y, ITEM, unary_value(op, a, b, load(x, ITEM)));
}

KERNEL is_finite(Index n, TENSOR(const Stored, x), TENSOR(Byte, y)) {
  OPEN(const Stored, x);
  OPEN(Byte, y);
  if (ITEM < n) y[ITEM] = IS_FINITE(load(x, ITEM)) ? 1 : 0;
}

KERNEL unary_backward(Index n, Int32 op, Real a, Real b, TENSOR(const Stored, x),
                      TENSOR(const Stored, y), TENSOR(const Stored, dy), TENSOR(Stored, dx)) {
  OPEN(const Stored, x);
  OPEN(const Stored, y);
  OPEN(const Stored, dy);
  OPEN(Stored, dx);
  const Index i = ITEM;
  if (i < n) store(dx, i, load(dy, i) * unary_slope(op, a, b, load(x, i), load(y, i)));
}

KERNEL binary(Walk walk, Int32 op, TENSOR(const Stored, a), TENSOR(const Stored, b),
              TENSOR(Stored, y)) {
  OPEN(const Stored, a);
  OPEN(const Stored, b);
  OPEN(Stored, y);
  const Index i = ITEM;
  if (i >= walk.count) return;
  const Real u = load(a, walk_offset(&walk, 0, i));
  const Real v = load(b, walk_offset(&walk, 1, i));
  Real value;
  switch (op) {
    case BinaryAdd:
      value = u + v;
      break;
    case BinarySub:
      value = u - v;
      break;
    case BinaryMul:
      value = u * v;
      break;
    case BinaryDiv:
      value = u / v;
      break;
    default:
      value = larger_or_smaller(op == BinaryMax, u, v);
  }
  store(y, i, value);
}

// y = f(gate) other; both lie in the rows of x, or in those of two tensors.
KERNEL gated(Rows rows, GatedRows at, Int32 op, TENSOR(const Stored, x),
             TENSOR(const Stored, other), TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(const Stored, other);
  OPEN(Stored, y);
  const Index row = row_of(&rows);
  for (Index i = PLACE % rows.team; i < length_of(&rows, row); i += rows.team) {
    const Index first = row * at.ld + i;
    const Real gate = load(x, first + at.gate);
    store(y, row * rows.n + i, unary_value(op, 0, 0, gate) * load(other, first + at.other));
  }
}

KERNEL gated_backward(Rows rows, GatedRows at, Int32 op, TENSOR(const Stored, x),
                      TENSOR(const Stored, other), TENSOR(const Stored, dy), TENSOR(Stored, dx),
                      TENSOR(Stored, dother)) {
  OPEN(const Stored, x);
  OPEN(const Stored, other);
  OPEN(const Stored, dy);
  OPEN(Stored, dx);
  OPEN(Stored, dother);
  const Index row = row_of(&rows);
  for (Index i = PLACE % rows.team; i < length_of(&rows, row); i += rows.team) {
    const Index first = row * at.ld + i;
    const Real gate = load(x, first + at.gate);
    const Real value = unary_value(op, 0, 0, gate);
    const Real d = load(dy, row * rows.n + i);
    const Real by = load(other, first + at.other);
    store(dx, first + at.gate, d * by * unary_slope(op, 0, 0, gate, value));
    store(dother, first + at.other, d * value);
  }
}

// Pairs (a, b) of neighbouring elements turn by the angles of their token and place in a head: x
// (items, tokens, heads, pairs, 2), cos and sin (tokens, pairs).
KERNEL rotate_pairs(Index count, Index tokens, Index of_token, Index pairs, Int32 back,
                    TENSOR(const Stored, x), TENSOR(const Real, cos_of), TENSOR(const Real, sin_of),
                    TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(const Real, cos_of);
  OPEN(const Real, sin_of);
  OPEN(Stored, y);
  const Index i = ITEM;
  if (i >= count) return;
  const Index angle = i / of_token % tokens * pairs + i % pairs;
  const Real c = cos_of[angle];
  const Real s = back ? -sin_of[angle] : sin_of[angle];
  const Real a = load(x, 2 * i);
  const Real b = load(x, 2 * i + 1);
  store(y, 2 * i, a * c - b * s);
  store(y, 2 * i + 1, a * s + b * c);
}
