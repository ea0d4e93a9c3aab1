// x^a for one exponent and many x, with the limits of std::pow; part of kernels_impl.h.
#pragma once

#include "backend/cpu/simd/batch_impl.h"

namespace fovea::cpu::simd {
namespace {

// x^a of positive normal x, to 3e-9 of its value, which is 1 / 20 of a unit in the last place of
// float: 2^(a log2 x) with log2 x = k + log2 m, m in [sqrt(1/2), sqrt(2)), as a series in (m - 1) /
// (m + 1). In float the product of a and the logarithm would cost up to 50 such units.
inline xsimd::batch<double> positive_power(const xsimd::batch<double>& x, double a) {
  using B = xsimd::batch<double>;
  using Bits = xsimd::batch<std::uint64_t>;
  // Moved by 1024, the exponent is a positive integer; beside the bits of 2^52 it becomes a number.
  constexpr std::uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd, kMoved = std::uint64_t{1024} << 52;
  const Bits bits = xsimd::bitwise_cast<Bits>(x);
  const Bits exponent = (bits + Bits(kMoved - kRootOfHalf)) >> 52;
  const B k = xsimd::bitwise_cast<B>(exponent | Bits(0x4330000000000000)) - (0x1p52 + 1024.0);
  const B m = xsimd::bitwise_cast<B>(bits + Bits(kMoved) - (exponent << 52));
  const B s = (m - 1.0) / (m + 1.0);
  const B u = s * s;
  auto log2 = u * 0.28289437457152552 + 0.31990618475532295;
  log2 = log2 * u + 0.41220923822502142;
  log2 = log2 * u + 0.57707794253013072;
  log2 = log2 * u + 0.96179669411267486;
  log2 = log2 * u + 2.8853900817778505;
  log2 = log2 * s + k;
  // Every power of 1 is 1, also infinite ones. Beyond +-200 the result is out of float's range.
  const B power = xsimd::select(log2 == B(0.0), log2, a * log2);
  const B inside = xsimd::min(xsimd::max(power, B(-200.0)), B(200.0));
  // The nearest integer lies in the last bits of this sum.
  const B sum = inside + 0x1.8p52;
  const B r = inside - (sum - 0x1.8p52);
  auto y = r * 1.5461444698569129e-4 + 1.3400428177615838e-3;
  y = y * r + 9.6180566785246381e-3;
  y = y * r + 5.5503272266703021e-2;
  y = y * r + 0.24022650922288758;
  y = y * r + 0.69314720670283260;
  y = y * r + 1.0;
  return xsimd::bitwise_cast<B>(xsimd::bitwise_cast<Bits>(y) +
                                (xsimd::bitwise_cast<Bits>(sum) << 52));
}

inline xsimd::batch<float> positive_power(const xsimd::batch<float>& x, double a) {
  constexpr std::int64_t kWide = kLanes<double>;
  alignas(64) float narrow[kLanes<float>];
  alignas(64) double wide[kLanes<float>];
  x.store_aligned(narrow);
  for (std::int64_t i = 0; i < kLanes<float>; ++i) wide[i] = static_cast<double>(narrow[i]);
  for (std::int64_t i = 0; i < kLanes<float>; i += kWide)
    positive_power(xsimd::batch<double>::load_aligned(wide + i), a).store_aligned(wide + i);
  for (std::int64_t i = 0; i < kLanes<float>; ++i) narrow[i] = static_cast<float>(wide[i]);
  return xsimd::batch<float>::load_aligned(narrow);
}

// Any exponent but 0.
inline xsimd::batch<float> power(const xsimd::batch<float>& x, double a) {
  using B = xsimd::batch<float>;
  const B infinity(__builtin_inff());
  const B size = xsimd::abs(x);
  if (a != a) return xsimd::select(x == B(1.0F), x, B(__builtin_nanf("")));
  B y = positive_power(size, a);
  y = xsimd::select(x == B(0.0F), a > 0 ? B(0.0F) : infinity, y);
  y = xsimd::select(size == infinity, a > 0 ? infinity : B(0.0F), y);
  if (__builtin_floor(a) != a) {
    y = xsimd::select(x < B(0.0F) && size != infinity, B(__builtin_nanf("")), y);
  } else if (__builtin_fabs(a) < 0x1p53 && __builtin_floor(a / 2) * 2 != a) {  // odd
    y = xsimd::copysign(y, x);
  }
  return xsimd::select(x == x, y, x);
}
inline xsimd::batch<double> power(const xsimd::batch<double>& x, double a) {
  alignas(64) double values[kLanes<double>];
  x.store_aligned(values);
  for (double& value : values) value = __builtin_pow(value, a);
  return xsimd::batch<double>::load_aligned(values);
}

// Calls use(f) with f: batch -> batch for x^a.
template <class T, class Use>
inline void with_power(double a, Use use) {
  using B = xsimd::batch<T>;
  if (a == 0) return use([](B) { return B(T{1}); });
  if (a == 1) return use([](B x) { return x; });
  if (a == 2) return use([](B x) { return x * x; });
  if (a == 3) return use([](B x) { return x * x * x; });
  if (a == -1) return use([](B x) { return T{1} / x; });
  if (a == 0.5) {
    return use([](B x) {
      const B infinity(static_cast<T>(__builtin_inf()));
      return xsimd::select(x == -infinity, infinity, xsimd::sqrt(x + T{0}));
    });
  }
  use([a](B x) { return power(x, a); });
}

// As above for the derivative, which is 0 for a = 0, also where x^-1 is infinite.
template <class T, class Use>
inline void with_power_slope(double a, Use use) {
  using B = xsimd::batch<T>;
  if (a == 0) return use([](B) { return B(T{0}); });
  with_power<T>(a - 1, [&](auto f) { use([=](B x) { return static_cast<T>(a) * f(x); }); });
}

}  // namespace
}  // namespace fovea::cpu::simd
