// Maps of one to three operands; part of kernels_impl.h.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/exp_impl.h"
#include "backend/cpu/simd/pow_impl.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kTwoInvSqrtPi = 1.12837916709551257390;
constexpr double kGeluCubic = 0.044715;
constexpr double kQuickGelu = 1.702;
constexpr double kSqrt2InvPi = 0.79788456080286535588;

template <class T>
inline xsimd::batch<T> reciprocal(const xsimd::batch<T>& x) {
  return T{1} / x;
}
#if defined(__AVX512F__)
// An estimate of 14 bits and one step of Newton's: a third of the time of a division, for normal
// numbers.
template <>
inline xsimd::batch<float> reciprocal(const xsimd::batch<float>& x) {
  const xsimd::batch<float> r = _mm512_rcp14_ps(x);
  return r + r * (1.0F - x * r);
}
#endif

template <class T>
inline xsimd::batch<T> sigmoid(const xsimd::batch<T>& x) {
  // exp of a non-positive number only, so nothing overflows.
  const Batch<T> e = exponential_below(-xsimd::abs(x));
  const Batch<T> r = reciprocal(T{1} + e);
  return xsimd::select(x >= Batch<T>(T{0}), r, e * r);
}

template <class T>
inline xsimd::batch<T> softplus(const xsimd::batch<T>& x) {
  const Batch<T> positive = xsimd::select(x > Batch<T>(T{0}), x, Batch<T>(T{0}));
  const Batch<T> value = positive + xsimd::log1p(xsimd::exp(-xsimd::abs(x)));
  return xsimd::select(x == x, value, x);  // NaN stays NaN
}

// How S is stored decides how exact these are.
template <class S>
constexpr bool kShortPolynomials = std::is_same_v<S, BFloat16>;

// GELU: x Phi(x), which is max(x, 0) - |x| Phi(-|x|) for either sign.
template <class T>
inline xsimd::batch<T> gelu(const xsimd::batch<T>& x, const Gaussian<T>& at) {
  return xsimd::max(xsimd::batch<T>(T{0}), x) - at.size * at.beyond;
}

// Phi(x) + x phi(x): that at x and that at -x add up to 1.
template <class T>
inline xsimd::batch<T> gelu_derivative(const xsimd::batch<T>& x, const Gaussian<T>& at) {
  const xsimd::batch<T> beyond = at.beyond - at.size * T(kInvSqrt2Pi) * at.gauss;
  return xsimd::select(x < xsimd::batch<T>(T{0}), beyond, T{1} - beyond);
}

template <class T>
inline xsimd::batch<T> gelu_tanh_inner(const xsimd::batch<T>& x) {
  return xsimd::tanh(T(kSqrt2InvPi) * (x + T(kGeluCubic) * x * x * x));
}

// Calls use(f) with f: batch -> batch for the operation, which is not kPow.
template <class S, class Use>
inline void with_unary(UnaryOp op, Compute<S> a, Compute<S> b, Use use) {
  using T = Compute<S>;
  using B = Batch<S>;
  const B zero(T{0});
  switch (op) {
    case UnaryOp::kAffine:
      return use([=](B x) { return a * x + b; });
    case UnaryOp::kExp:
      return use([](B x) { return xsimd::exp(x); });
    case UnaryOp::kLog:
      return use([](B x) { return xsimd::log(x); });
    case UnaryOp::kLog1p:
      return use([](B x) { return xsimd::log1p(x); });
    case UnaryOp::kExpm1:
      return use([](B x) { return xsimd::expm1(x); });
    case UnaryOp::kSqrt:
      return use([](B x) { return xsimd::sqrt(x); });
    case UnaryOp::kRsqrt:
      return use([](B x) { return T{1} / xsimd::sqrt(x); });
    case UnaryOp::kReciprocal:
      return use([](B x) { return T{1} / x; });
    case UnaryOp::kSquare:
      return use([](B x) { return x * x; });
    case UnaryOp::kAbs:
      return use([](B x) { return xsimd::abs(x); });
    case UnaryOp::kSign:
      return use([=](B x) {
        return xsimd::select(x > zero, B(T{1}), xsimd::select(x < zero, B(T{-1}), x));
      });
    case UnaryOp::kClamp:
      return use(
          [=](B x) { return xsimd::select(x < B(a), B(a), xsimd::select(x > B(b), B(b), x)); });
    case UnaryOp::kSin:
      return use([](B x) { return xsimd::sin(x); });
    case UnaryOp::kCos:
      return use([](B x) { return xsimd::cos(x); });
    case UnaryOp::kTanh:
      return use([](B x) { return xsimd::tanh(x); });
    case UnaryOp::kSigmoid:
      return use([](B x) { return sigmoid(x); });
    case UnaryOp::kErf:
      return use([](B x) { return xsimd::erf(x); });
    case UnaryOp::kRelu:
      return use([=](B x) { return xsimd::select(x <= zero, zero, x); });
    case UnaryOp::kGelu:
      return use([](B x) { return gelu(x, gaussian<kShortPolynomials<S>>(x)); });
    case UnaryOp::kGeluTanh:
      return use([](B x) { return T{0.5} * x * (T{1} + gelu_tanh_inner(x)); });
    case UnaryOp::kQuickGelu:
      return use([](B x) { return x * sigmoid(T(kQuickGelu) * x); });
    case UnaryOp::kSilu:
      return use([](B x) { return x * sigmoid(x); });
    case UnaryOp::kElu:
      return use([=](B x) { return xsimd::select(x > zero, x, a * xsimd::expm1(x)); });
    case UnaryOp::kSoftplus:
      return use([](B x) { return softplus(x); });
    case UnaryOp::kPow:
    case UnaryOp::kIsFinite:
      return;
  }
}

// Calls use(f) with f: (x, y) -> dy/dx; not for kPow.
template <class S, class Use>
inline void with_derivative(UnaryOp op, Compute<S> a, Compute<S> b, Use use) {
  using T = Compute<S>;
  using B = Batch<S>;
  const B zero(T{0});
  const B one(T{1});
  switch (op) {
    case UnaryOp::kAffine:
      return use([=](B, B) { return B(a); });
    case UnaryOp::kExp:
      return use([](B, B y) { return y; });
    case UnaryOp::kLog:
      return use([](B x, B) { return T{1} / x; });
    case UnaryOp::kLog1p:
      return use([](B x, B) { return T{1} / (T{1} + x); });
    case UnaryOp::kExpm1:
      return use([](B, B y) { return y + T{1}; });
    case UnaryOp::kSqrt:
      return use([](B, B y) { return T{0.5} / y; });
    case UnaryOp::kRsqrt:
      return use([](B, B y) { return T{-0.5} * y * y * y; });
    case UnaryOp::kReciprocal:
      return use([](B, B y) { return -(y * y); });
    case UnaryOp::kSquare:
      return use([](B x, B) { return x + x; });
    case UnaryOp::kAbs:
      return use([=](B x, B) {
        return xsimd::select(x > zero, one, xsimd::select(x < zero, -one, zero));
      });
    case UnaryOp::kSign:
      return use([=](B, B) { return zero; });
    case UnaryOp::kClamp:
      return use([=](B x, B) { return xsimd::select(x >= B(a) && x <= B(b), one, zero); });
    case UnaryOp::kSin:
      return use([](B x, B) { return xsimd::cos(x); });
    case UnaryOp::kCos:
      return use([](B x, B) { return -xsimd::sin(x); });
    case UnaryOp::kTanh:
      return use([](B, B y) { return T{1} - y * y; });
    case UnaryOp::kSigmoid:
      return use([](B, B y) { return y * (T{1} - y); });
    case UnaryOp::kErf:
      return use([](B x, B) { return T(kTwoInvSqrtPi) * xsimd::exp(-x * x); });
    case UnaryOp::kRelu:
      return use([=](B x, B) { return xsimd::select(x > zero, one, zero); });
    case UnaryOp::kGelu:
      return use([](B x, B) { return gelu_derivative(x, gaussian<kShortPolynomials<S>>(x)); });
    case UnaryOp::kGeluTanh:
      return use([](B x, B) {
        const B t = gelu_tanh_inner(x);
        const B inner = T(kSqrt2InvPi) * (T{1} + T(3 * kGeluCubic) * x * x);
        return T{0.5} * (T{1} + t) + T{0.5} * x * (T{1} - t * t) * inner;
      });
    case UnaryOp::kQuickGelu:
      return use([](B x, B) {
        const B s = sigmoid(T(kQuickGelu) * x);
        return s * (T{1} + T(kQuickGelu) * x * (T{1} - s));
      });
    case UnaryOp::kSilu:
      return use([](B x, B) {
        const B s = sigmoid(x);
        return s * (T{1} + x * (T{1} - s));
      });
    case UnaryOp::kElu:
      return use([=](B x, B y) { return xsimd::select(x > zero, one, y + a); });
    case UnaryOp::kSoftplus:
      return use([](B x, B) { return sigmoid(x); });
    case UnaryOp::kPow:
    case UnaryOp::kIsFinite:
      return;
  }
}

template <class S>
void unary(UnaryOp op, double a, double b, const S* x, S* y, std::int64_t n) {
  using T = Compute<S>;
  if (op == UnaryOp::kPow) return with_power<T>(a, [&](auto f) { map(n, f, y, x); });
  with_unary<S>(op, T(a), T(b), [&](auto f) { map(n, f, y, x); });
}

template <class S>
void unary_backward(UnaryOp op, double a, double b, const S* x, const S* y, const S* dy, S* dx,
                    std::int64_t n) {
  using T = Compute<S>;
  if (op == UnaryOp::kPow) {
    return with_power_slope<T>(a, [&](auto f) {
      map(
          n, [f](Batch<T> xi, Batch<T> di) { return di * f(xi); }, dx, x, dy);
    });
  }
  with_derivative<S>(op, T(a), T(b), [&](auto f) {
    map(
        n, [f](Batch<T> xi, Batch<T> yi, Batch<T> di) { return di * f(xi, yi); }, dx, x, y, dy);
  });
}

// A function that gates, and its derivative.
template <class T>
struct Gate {
  Batch<T> value, slope;
};

// Calls use(f) with f: batch -> Gate.
template <class S, class Use>
inline void with_gate(UnaryOp op, Use use) {
  using T = Compute<S>;
  using B = Batch<S>;
  switch (op) {
    case UnaryOp::kSigmoid:
      return use([](B x) {
        const B s = sigmoid(x);
        return Gate<T>{s, s * (T{1} - s)};
      });
    case UnaryOp::kGelu:
      return use([](B x) {
        const Gaussian<T> at = gaussian<kShortPolynomials<S>>(x);
        return Gate<T>{gelu(x, at), gelu_derivative(x, at)};
      });
    default:  // kSilu
      return use([](B x) {
        const B s = sigmoid(x);
        return Gate<T>{x * s, s * (T{1} + x * (T{1} - s))};
      });
  }
}

template <class S>
void gated(UnaryOp op, const S* x, const S* other, S* y, std::int64_t n) {
  with_gate<S>(op, [&](auto f) {
    map(
        n, [f](Batch<S> xi, Batch<S> oi) { return f(xi).value * oi; }, y, x, other);
  });
}

template <class S>
void gated_backward(UnaryOp op, const S* x, const S* other, const S* dy, S* dx, S* dother,
                    std::int64_t n) {
  with_gate<S>(op, [&](auto f) {
    std::int64_t i = 0;
    for (; i + kLanes<S> <= n; i += kLanes<S>) {
      const auto gate = f(load(x + i));
      const Batch<S> d = load(dy + i);
      store(d * load(other + i) * gate.slope, dx + i);
      store(d * gate.value, dother + i);
    }
    if (i == n) return;
    const std::int64_t left = n - i;
    const auto gate = f(load_part(x + i, left));
    const Batch<S> d = load_part(dy + i, left);
    store_part(d * load_part(other + i, left) * gate.slope, dx + i, left);
    store_part(d * gate.value, dother + i, left);
  });
}

template <class S, class F>
inline void map_binary(F f, const S* a, std::int64_t step_a, const S* b, std::int64_t step_b, S* y,
                       std::int64_t n) {
  using B = Batch<S>;
  const auto repeated = [](S value) {
    Tail<S> tail;
    for (std::int64_t i = 0; i < kLanes<S>; ++i) tail.values[i] = value;
    return tail.get();
  };
  if (step_a != 0 && step_b != 0) {
    map(n, f, y, a, b);
  } else if (step_a != 0) {
    const B right = repeated(b[0]);
    map(
        n, [=](B left) { return f(left, right); }, y, a);
  } else {
    const B left = repeated(a[0]);
    if (step_b != 0) {
      map(
          n, [=](B right) { return f(left, right); }, y, b);
    } else {
      Tail<S> tail;
      store(f(left, repeated(b[0])), tail.values);
      for (std::int64_t i = 0; i < n; ++i) y[i] = tail.values[0];
    }
  }
}

template <class S>
void binary(BinaryOp op, const S* a, std::int64_t step_a, const S* b, std::int64_t step_b, S* y,
            std::int64_t n) {
  using B = Batch<S>;
  const auto run = [&](auto f) { map_binary(f, a, step_a, b, step_b, y, n); };
  switch (op) {
    case BinaryOp::kAdd:
      return run([](B l, B r) { return l + r; });
    case BinaryOp::kSub:
      return run([](B l, B r) { return l - r; });
    case BinaryOp::kMul:
      return run([](B l, B r) { return l * r; });
    case BinaryOp::kDiv:
      return run([](B l, B r) { return l / r; });
    // A NaN on either side fails both comparisons and comes out of the sum.
    case BinaryOp::kMax:
      return run([](B l, B r) { return xsimd::select(l >= r, l, xsimd::select(r > l, r, l + r)); });
    case BinaryOp::kMin:
      return run([](B l, B r) { return xsimd::select(l <= r, l, xsimd::select(r < l, r, l + r)); });
    default:
      return;  // comparisons have another output type
  }
}

template <class S, class Y>
inline void add_scaled(Compute<S> alpha, const S* x, Y* y, std::int64_t n) {
  map(
      n, [=](Batch<S> xi, Batch<S> yi) { return alpha * xi + yi; }, y, x, static_cast<const Y*>(y));
}

template <class S>
void axpy(Compute<S> alpha, const S* x, S* y, std::int64_t n) {
  add_scaled(alpha, x, y, n);
}

template <class S>
void add_wide(Compute<S> alpha, const S* x, Compute<S>* y, std::int64_t n) {
  add_scaled(alpha, x, y, n);
}

template <class To, class From>
inline void convert(const From* x, To* y, std::int64_t n) {
  map(
      n, [](Batch<From> xi) { return xi; }, y, x);
}

template <class S>
void widen(const S* x, Compute<S>* y, std::int64_t n) {
  convert(x, y, n);
}

template <class S>
void narrow(const Compute<S>* x, S* y, std::int64_t n) {
  convert(x, y, n);
}

}  // namespace
}  // namespace fovea::cpu::simd
