// Body of the kernels of simd.h; included once per instruction set. Everything is in an unnamed
// namespace and no standard template is instantiated: a function shared between the object files
// would be taken from whichever comes first and might then use instructions the processor lacks.
// (xsimd's templates carry the instruction set in their type.)

#include <xsimd/xsimd.hpp>

#include "backend/cpu/simd/simd.h"
#include "tensor/random.h"

namespace fovea::cpu::simd {
namespace {

template <class T>
using Batch = xsimd::batch<T>;

template <class T>
constexpr std::int64_t kLanes = static_cast<std::int64_t>(Batch<T>::size);

// The tail is computed in a full batch as well, so an element's value does not depend on where a
// piece of work ends.
template <class T>
struct Tail {
  alignas(64) T values[kLanes<T>] = {};
  Tail() = default;
  Tail(const T* from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = from[i];
  }
  Batch<T> load() const { return Batch<T>::load_aligned(values); }
  void store(const Batch<T>& batch, T* to, std::int64_t n) {
    batch.store_aligned(values);
    for (std::int64_t i = 0; i < n; ++i) to[i] = values[i];
  }
};

// y[i] = f(x0[i], x1[i], ...) for any number of inputs.
template <class T, class F, class... X>
inline void map(std::int64_t n, F f, T* y, const X*... x) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>)
    f(Batch<T>::load_unaligned(x + i)...).store_unaligned(y + i);
  if (i < n) Tail<T>().store(f(Tail<T>(x + i, n - i).load()...), y + i, n - i);
}

template <class T>
inline T horizontal_sum(const Batch<T>& batch) {
  alignas(64) T values[kLanes<T>];
  batch.store_aligned(values);
  for (std::int64_t width = kLanes<T> / 2; width > 0; width /= 2) {
    for (std::int64_t i = 0; i < width; ++i) values[i] += values[i + width];
  }
  return values[0];
}

// Sum of f(x0[i], ...); two accumulators hide the latency of the additions.
template <class T, class F, class... X>
inline T accumulate(std::int64_t n, F f, const X*... x) {
  Batch<T> even(T{0});
  Batch<T> odd(T{0});
  std::int64_t i = 0;
  for (; i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {
    even += f(Batch<T>::load_unaligned(x + i)...);
    odd += f(Batch<T>::load_unaligned(x + i + kLanes<T>)...);
  }
  T sum = horizontal_sum(even + odd);
  for (; i < n; i += kLanes<T>) {
    const std::int64_t left = n - i < kLanes<T> ? n - i : kLanes<T>;
    Tail<T> tail;
    const Batch<T> values = f(Tail<T>(x + i, left).load()...);
    values.store_aligned(tail.values);
    for (std::int64_t j = 0; j < left; ++j) sum += tail.values[j];
  }
  return sum;
}

constexpr double kInvSqrt2 = 0.70710678118654752440;
constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kTwoInvSqrtPi = 1.12837916709551257390;
constexpr double kGeluCubic = 0.044715;
constexpr double kSqrt2InvPi = 0.79788456080286535588;

template <class T>
inline Batch<T> sigmoid(const Batch<T>& x) {
  // exp of a non-positive number only, so nothing overflows.
  const Batch<T> e = xsimd::exp(-xsimd::abs(x));
  const Batch<T> r = T{1} / (T{1} + e);
  return xsimd::select(x >= Batch<T>(T{0}), r, e * r);
}

template <class T>
inline Batch<T> softplus(const Batch<T>& x) {
  const Batch<T> positive = xsimd::select(x > Batch<T>(T{0}), x, Batch<T>(T{0}));
  const Batch<T> value = positive + xsimd::log1p(xsimd::exp(-xsimd::abs(x)));
  return xsimd::select(x == x, value, x);  // NaN stays NaN
}

template <class T>
inline Batch<T> gaussian_cdf(const Batch<T>& x) {
  return T{0.5} * (T{1} + xsimd::erf(x * T(kInvSqrt2)));
}

template <class T>
inline Batch<T> gelu_tanh_inner(const Batch<T>& x) {
  return xsimd::tanh(T(kSqrt2InvPi) * (x + T(kGeluCubic) * x * x * x));
}

// Calls use(f) with f: batch -> batch for the operation.
template <class T, class Use>
inline void with_unary(UnaryOp op, T a, T b, Use use) {
  using B = Batch<T>;
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
    case UnaryOp::kPow:
      return use([=](B x) { return xsimd::pow(x, B(a)); });
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
      return use([](B x) { return x * gaussian_cdf(x); });
    case UnaryOp::kGeluTanh:
      return use([](B x) { return T{0.5} * x * (T{1} + gelu_tanh_inner(x)); });
    case UnaryOp::kSilu:
      return use([](B x) { return x * sigmoid(x); });
    case UnaryOp::kElu:
      return use([=](B x) { return xsimd::select(x > zero, x, a * xsimd::expm1(x)); });
    case UnaryOp::kSoftplus:
      return use([](B x) { return softplus(x); });
    case UnaryOp::kIsFinite:
      return;
  }
}

// Calls use(f) with f: (x, y) -> dy/dx.
template <class T, class Use>
inline void with_derivative(UnaryOp op, T a, T b, Use use) {
  using B = Batch<T>;
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
    case UnaryOp::kPow:
      return use([=](B x, B) { return a * xsimd::pow(x, B(a - T{1})); });
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
      return use([](B x, B) {
        return gaussian_cdf(x) + x * T(kInvSqrt2Pi) * xsimd::exp(T{-0.5} * x * x);
      });
    case UnaryOp::kGeluTanh:
      return use([](B x, B) {
        const B t = gelu_tanh_inner(x);
        const B inner = T(kSqrt2InvPi) * (T{1} + T(3 * kGeluCubic) * x * x);
        return T{0.5} * (T{1} + t) + T{0.5} * x * (T{1} - t * t) * inner;
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
    case UnaryOp::kIsFinite:
      return;
  }
}

template <class T>
void unary(UnaryOp op, double a, double b, const T* x, T* y, std::int64_t n) {
  with_unary<T>(op, T(a), T(b), [&](auto f) { map<T>(n, f, y, x); });
}

template <class T>
void unary_backward(UnaryOp op, double a, double b, const T* x, const T* y, const T* dy, T* dx,
                    std::int64_t n) {
  with_derivative<T>(op, T(a), T(b), [&](auto f) {
    map<T>(
        n, [f](Batch<T> xi, Batch<T> yi, Batch<T> di) { return di * f(xi, yi); }, dx, x, y, dy);
  });
}

// Calls use(f, df) for the functions that gate: a list of its own, because every pair of f and df
// is compiled once more.
template <class T, class Use>
inline void with_gate(UnaryOp op, Use use) {
  using B = Batch<T>;
  switch (op) {
    case UnaryOp::kSigmoid:
      return use([](B x) { return sigmoid(x); },
                 [](B x) {
                   const B s = sigmoid(x);
                   return s * (T{1} - s);
                 });
    case UnaryOp::kGelu:
      return use(
          [](B x) { return x * gaussian_cdf(x); },
          [](B x) { return gaussian_cdf(x) + x * T(kInvSqrt2Pi) * xsimd::exp(T{-0.5} * x * x); });
    default:  // kSilu
      return use([](B x) { return x * sigmoid(x); },
                 [](B x) {
                   const B s = sigmoid(x);
                   return s * (T{1} + x * (T{1} - s));
                 });
  }
}

template <class T>
void gated(UnaryOp op, const T* x, const T* other, T* y, std::int64_t n) {
  with_gate<T>(op, [&](auto f, auto) {
    map<T>(
        n, [f](Batch<T> xi, Batch<T> oi) { return f(xi) * oi; }, y, x, other);
  });
}

template <class T>
void gated_backward(UnaryOp op, const T* x, const T* other, const T* dy, T* dx, T* dother,
                    std::int64_t n) {
  with_gate<T>(op, [&](auto f, auto df) {
    map<T>(
        n, [df](Batch<T> xi, Batch<T> oi, Batch<T> di) { return di * oi * df(xi); }, dx, x, other,
        dy);
    map<T>(
        n, [f](Batch<T> xi, Batch<T> di) { return di * f(xi); }, dother, x, dy);
  });
}

template <class T, class F>
inline void map_binary(F f, const T* a, std::int64_t step_a, const T* b, std::int64_t step_b, T* y,
                       std::int64_t n) {
  using B = Batch<T>;
  if (step_a != 0 && step_b != 0) {
    map<T>(n, f, y, a, b);
  } else if (step_a != 0) {
    const B right(b[0]);
    map<T>(
        n, [=](B left) { return f(left, right); }, y, a);
  } else {
    const B left(a[0]);
    if (step_b != 0) {
      map<T>(
          n, [=](B right) { return f(left, right); }, y, b);
    } else {
      Tail<T> tail;
      f(left, B(b[0])).store_aligned(tail.values);
      for (std::int64_t i = 0; i < n; ++i) y[i] = tail.values[0];
    }
  }
}

template <class T>
void binary(BinaryOp op, const T* a, std::int64_t step_a, const T* b, std::int64_t step_b, T* y,
            std::int64_t n) {
  using B = Batch<T>;
  const auto run = [&](auto f) { map_binary<T>(f, a, step_a, b, step_b, y, n); };
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
    case BinaryOp::kPow:
      return run([](B l, B r) { return xsimd::pow(l, r); });
    default:
      return;  // comparisons have another output type
  }
}

template <class T>
void axpy(T alpha, const T* x, T* y, std::int64_t n) {
  map<T>(
      n, [=](Batch<T> xi, Batch<T> yi) { return alpha * xi + yi; }, y, x, static_cast<const T*>(y));
}

template <class T>
T sum(const T* x, std::int64_t n) {
  return accumulate<T>(
      n, [](Batch<T> xi) { return xi; }, x);
}

template <class T>
T dot(const T* x, const T* y, std::int64_t n) {
  return accumulate<T>(
      n, [](Batch<T> xi, Batch<T> yi) { return xi * yi; }, x, y);
}

template <class T>
T centred_squares(const T* x, T mean, std::int64_t n) {
  return accumulate<T>(
      n, [mean](Batch<T> xi) { return (xi - mean) * (xi - mean); }, x);
}

template <class T>
T max(const T* x, std::int64_t n) {
  T best = x[0];
  std::int64_t i = 0;
  if (n >= kLanes<T>) {
    Batch<T> running = Batch<T>::load_unaligned(x);
    for (i = kLanes<T>; i + kLanes<T> <= n; i += kLanes<T>) {
      running = xsimd::max(running, Batch<T>::load_unaligned(x + i));
    }
    Tail<T> tail;
    running.store_aligned(tail.values);
    best = tail.values[0];
    for (std::int64_t j = 1; j < kLanes<T>; ++j)
      best = tail.values[j] > best ? tail.values[j] : best;
  }
  for (; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

template <class T>
T exp_sum(const T* x, T shift, T* y, std::int64_t n) {
  Batch<T> total(T{0});
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    const Batch<T> e = xsimd::exp(Batch<T>::load_unaligned(x + i) - shift);
    e.store_unaligned(y + i);
    total += e;
  }
  T result = horizontal_sum(total);
  if (i < n) {
    Tail<T> tail(x + i, n - i);
    tail.store(xsimd::exp(tail.load() - shift), y + i, n - i);
    for (; i < n; ++i) result += y[i];
  }
  return result;
}

template <class T>
void softmax_backward(T scale, const T* y, const T* dy, T shift, T* dx, std::int64_t n) {
  map<T>(
      n, [=](Batch<T> yi, Batch<T> di) { return scale * yi * (di - shift); }, dx, y, dy);
}

template <class T>
void combine(T c1, const T* p1, T c2, const T* p2, T* a, std::int64_t n) {
  map<T>(
      n, [=](Batch<T> l, Batch<T> r) { return c1 * l + c2 * r; }, a, p1, p2);
}

template <class T>
void normalise(const T* x, T mean, T rstd, const T* weight, const T* bias, T* y, std::int64_t n) {
  using B = Batch<T>;
  if (weight != nullptr && bias != nullptr) {
    map<T>(
        n, [=](B xi, B w, B b) { return (xi - mean) * rstd * w + b; }, y, x, weight, bias);
  } else if (weight != nullptr) {
    map<T>(
        n, [=](B xi, B w) { return (xi - mean) * rstd * w; }, y, x, weight);
  } else if (bias != nullptr) {
    map<T>(
        n, [=](B xi, B b) { return (xi - mean) * rstd + b; }, y, x, bias);
  } else {
    map<T>(
        n, [=](B xi) { return (xi - mean) * rstd; }, y, x);
  }
}

// xhat = (x - mean) rstd, e = dy weight:
//   layer norm  dx = rstd (e - mean(e) - xhat mean(e xhat)),   RMS norm  dx = rstd (e - xhat mean(e
//   xhat))
template <class T>
void normalise_backward(bool centred, const T* x, T mean, T rstd, const T* weight, const T* dy,
                        T* dx, T* dweight, T* dbias, std::int64_t n) {
  using B = Batch<T>;
  T sum_e = 0;
  T sum_ex = 0;
  if (weight != nullptr) {
    if (centred) sum_e = dot<T>(dy, weight, n);
    sum_ex = accumulate<T>(
        n, [=](B xi, B w, B d) { return d * w * ((xi - mean) * rstd); }, x, weight, dy);
  } else {
    if (centred) sum_e = sum<T>(dy, n);
    sum_ex = accumulate<T>(
        n, [=](B xi, B d) { return d * ((xi - mean) * rstd); }, x, dy);
  }
  const T mean_e = sum_e / static_cast<T>(n);
  const T mean_ex = sum_ex / static_cast<T>(n);
  if (dx != nullptr && weight != nullptr) {
    map<T>(
        n, [=](B xi, B w, B d) { return rstd * (d * w - mean_e - (xi - mean) * rstd * mean_ex); },
        dx, x, weight, dy);
  } else if (dx != nullptr) {
    map<T>(
        n, [=](B xi, B d) { return rstd * (d - mean_e - (xi - mean) * rstd * mean_ex); }, dx, x,
        dy);
  }
  if (dweight != nullptr) {
    map<T>(
        n, [=](B xi, B d, B w) { return w + d * ((xi - mean) * rstd); }, dweight, x, dy,
        static_cast<const T*>(dweight));
  }
  if (dbias != nullptr) axpy<T>(T{1}, dy, dbias, n);
}

// Sixteen blocks at a time in plain arrays, which the compiler turns into vector code.
constexpr int kBlocks = 16;

inline void philox_words(std::uint64_t key, std::uint64_t first_block, std::uint32_t* words) {
  std::uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    const std::uint64_t counter = first_block + static_cast<std::uint64_t>(i);
    c0[i] = static_cast<std::uint32_t>(counter);
    c1[i] = static_cast<std::uint32_t>(counter >> 32);
    c2[i] = 0;
    c3[i] = 0;
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kBlocks; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0[i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<std::uint32_t>(p1);
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kBlocks; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

template <class T>
void dropout(std::uint64_t key, std::uint64_t first, T p, T scale, const T* x, T* y,
             std::int64_t n) {
  constexpr std::int64_t kWords = 4 * kBlocks;
  std::uint32_t words[kWords];
  std::int64_t done = 0;
  while (done < n) {
    const std::uint64_t element = first + static_cast<std::uint64_t>(done);
    const auto skip = static_cast<std::int64_t>(element % 4);
    philox_words(key, element / 4, words);
    const std::int64_t count = n - done < kWords - skip ? n - done : kWords - skip;
    for (std::int64_t i = 0; i < count; ++i) {
      const T u = static_cast<T>(static_cast<float>(words[skip + i] >> 8) * 0x1.0p-24f);
      y[done + i] = u < p ? T{0} : x[done + i] * scale;
    }
    done += count;
  }
}

// dgsa 6.4.
template <class T>
void adamw(const AdamWArgs& args, double correction1, double correction2, const T* g, T* p, T* m,
           T* v, std::int64_t n) {
  using B = Batch<T>;
  const T b1 = T(args.beta1);
  const T b2 = T(args.beta2);
  const T rest1 = T(1 - args.beta1);
  const T rest2 = T(1 - args.beta2);
  const T decay = T(1 - args.lr * args.weight_decay);
  const T rate = T(args.lr / correction1);
  const T root2 = T(1 / __builtin_sqrt(correction2));
  const T eps = T(args.eps);
  const auto update = [=](B gi, B& pi, B& mi, B& vi) {
    mi = b1 * mi + rest1 * gi;
    vi = b2 * vi + rest2 * gi * gi;
    pi = pi * decay - rate * mi / (xsimd::sqrt(vi) * root2 + eps);
  };
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    B pi = B::load_unaligned(p + i);
    B mi = B::load_unaligned(m + i);
    B vi = B::load_unaligned(v + i);
    update(B::load_unaligned(g + i), pi, mi, vi);
    pi.store_unaligned(p + i);
    mi.store_unaligned(m + i);
    vi.store_unaligned(v + i);
  }
  if (i < n) {
    Tail<T> gt(g + i, n - i), pt(p + i, n - i), mt(m + i, n - i), vt(v + i, n - i);
    B pi = pt.load();
    B mi = mt.load();
    B vi = vt.load();
    update(gt.load(), pi, mi, vi);
    pt.store(pi, p + i, n - i);
    mt.store(mi, m + i, n - i);
    vt.store(vi, v + i, n - i);
  }
}

}  // namespace
}  // namespace fovea::cpu::simd

#include "backend/cpu/simd/correlate_impl.h"

namespace fovea::cpu::simd {
namespace {

template <class T>
Kernels<T> make() {
  return {unary<T>,
          unary_backward<T>,
          binary<T>,
          axpy<T>,
          gated<T>,
          gated_backward<T>,
          sum<T>,
          dot<T>,
          max<T>,
          exp_sum<T>,
          softmax_backward<T>,
          combine<T>,
          normalise<T>,
          centred_squares<T>,
          normalise_backward<T>,
          dropout<T>,
          adamw<T>,
          correlate<T>,
          correlate_sums<T>};
}

}  // namespace

Table FOVEA_SIMD_TABLE() { return {FOVEA_SIMD_NAME, make<float>(), make<double>()}; }

}  // namespace fovea::cpu::simd
