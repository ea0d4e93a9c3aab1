// The exponential and functions made from it; part of kernels_impl.h.
#pragma once

#include "backend/cpu/simd/batch_impl.h"

namespace fovea::cpu::simd {
namespace {

inline xsimd::batch<double> exponential(const xsimd::batch<double>& x) { return xsimd::exp(x); }

// exp(x) = 2^n exp(r), n = round(x / log 2), |r| <= log(2) / 2, a polynomial of degree 5 for
// exp(r), whose largest error relative to it is the smallest of those with exp(0) = 1: within 2
// units in the last place. 0 below -87.3, where 2^n would leave the normal numbers, which
// processors are slow at; infinity for large x; NaN stays NaN.
inline xsimd::batch<float> exponential_of_rest(const xsimd::batch<float>& r) {
  auto p = r * 8.29027e-3F + 4.189816e-2F;
  p = p * r + 0.16667638F;
  p = p * r + 0.49999148F;
  p = p * r + 0.99999971F;
  return p * r + 1.0F;
}

// What is left of x after n log 2, and exp() of it: as above; or with a polynomial of degree 3,
// within 2^-13 of its value, for results that are stored as bfloat16.
template <bool kShort>
inline xsimd::batch<float> exponential_without(const xsimd::batch<float>& x,
                                               const xsimd::batch<float>& n) {
  if constexpr (kShort) {
    const auto r = x - n * 0.693147181F;
    return ((r * 0.1651787801F + 0.5041304784F) * r + 1.000195899F) * r + 1.0F;
  } else {
    return exponential_of_rest((x - n * 0.693359375F) - n * -2.12194440e-4F);
  }
}

#if defined(__AVX512F__)
// (Of two operands one of which is NaN, min and max return the second.)
template <bool kShort = false>
inline xsimd::batch<float> exponential(const xsimd::batch<float>& x) {
  using B = xsimd::batch<float>;
  const __m512 least = _mm512_set1_ps(-87.3F);
  const B inside = _mm512_min_ps(_mm512_set1_ps(100.0F), _mm512_max_ps(least, x));
  const B n = _mm512_roundscale_ps(inside * 1.44269504F, _MM_FROUND_TO_NEAREST_INT);
  const __mmask16 normal = _mm512_cmp_ps_mask(x, least, _CMP_NLT_UQ);
  return _mm512_maskz_scalef_ps(normal, exponential_without<kShort>(inside, n), n);
}
#else
inline xsimd::batch<float> exponential(const xsimd::batch<float>& x) {
  using B = xsimd::batch<float>;
  const B least(-87.3F);
  const B most(88.37F);
  const B inside = xsimd::min(xsimd::max(x, least), most);
  const B n = xsimd::nearbyint(inside * 1.44269504F);
  const auto power = xsimd::to_int(n) << 23;
  const auto bits =
      xsimd::bitwise_cast<xsimd::batch<std::int32_t> >(exponential_without<false>(inside, n)) +
      power;
  const B y = xsimd::select(x < least, B(0.0F), xsimd::bitwise_cast<B>(bits));
  const B large = xsimd::select(x > most, B(__builtin_inff()), y);
  return xsimd::select(x == x, large, x);
}
#endif

// exp(x) of numbers from -87.3 to 0.
template <bool kShort>
inline xsimd::batch<float> exponential_inside(const xsimd::batch<float>& x) {
  using B = xsimd::batch<float>;
#if defined(__AVX512F__)
  const B n = _mm512_roundscale_ps(x * 1.44269504F, _MM_FROUND_TO_NEAREST_INT);
  return _mm512_scalef_ps(exponential_without<kShort>(x, n), n);
#else
  const B n = xsimd::nearbyint(x * 1.44269504F);
  const auto power = xsimd::to_int(n) << 23;
  return xsimd::bitwise_cast<B>(
      xsimd::bitwise_cast<xsimd::batch<std::int32_t> >(exponential_without<kShort>(x, n)) + power);
#endif
}

// exp(x) of numbers that are not above 0 but for roundings.
template <bool kShort = false>
inline xsimd::batch<double> exponential_below(const xsimd::batch<double>& x) {
  return exponential(x);
}
template <bool kShort = false>
inline xsimd::batch<float> exponential_below(const xsimd::batch<float>& x) {
#if defined(__AVX512F__)
  return exponential<kShort>(x);
#else
  using B = xsimd::batch<float>;
  const B least(-87.3F);
  // (Of two operands one of which is NaN, max returns the second, and so NaN stays NaN.)
  const B inside = xsimd::max(least, x);
  return xsimd::select(x < least, B(0.0F), exponential_inside<kShort>(inside));
#endif
}

// Of the normal distribution at x: |x|, but no more than `kFar`, where nothing is left to either
// side; exp(-|x|^2 / 2); and Phi(-|x|). For float that is gauss t P(t) with t = 1 / (1 + 0.3 |x|)
// and P a Chebyshev fit, within 5e-8 of its value down to x = -6, where that is 1e-9. Nothing
// cancels, so small results keep their digits. kShort: with a P within 2^-12 of it, as above.
template <class T>
struct Gaussian {
  xsimd::batch<T> size, gauss, beyond;
};

template <bool kShort>
inline Gaussian<float> gaussian(const xsimd::batch<float>& x) {
  using B = xsimd::batch<float>;
  constexpr float kFar = 12.5F;
  const B size = xsimd::min(B(kFar), xsimd::abs(x));  // NaN stays NaN
  const B gauss = exponential_inside<kShort>(-0.5F * size * size);
  const B t = 1.0F / (1.0F + 0.3F * size);
  B p;
  if constexpr (kShort) {
    p = t * 0.20884231F + 0.03559176F;
    p = p * t + 0.13747615F;
    p = p * t + 0.11820469F;
  } else {
    p = t * 0.035842728053F - 0.156952498166F;
    p = p * t + 0.203795632365F;
    p = p * t - 0.0487296702299F;
    p = p * t + 0.124069054226F;
    p = p * t + 0.102065944001F;
    p = p * t + 0.120227952673F;
    p = p * t + 0.119680872067F;
  }
  return {size, gauss, p * t * gauss};
}
template <bool kShort>
inline Gaussian<double> gaussian(const xsimd::batch<double>& x) {
  using B = xsimd::batch<double>;
  constexpr double kFar = 37;
  const B size = xsimd::min(B(kFar), xsimd::abs(x));
  return {size, exponential(-0.5 * size * size), 0.5 * xsimd::erfc(size * 0.70710678118654752440)};
}

}  // namespace
}  // namespace fovea::cpu::simd
