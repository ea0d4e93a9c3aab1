// Loops over batches of elements; part of kernels_impl.h. S is how elements are stored:
// float, double, or BFloat16, which is computed in float.
#pragma once

#include <xsimd/xsimd.hpp>

#include <cstdint>

#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

template <class S>
using Batch = xsimd::batch<Compute<S>>;

template <class S>
constexpr std::int64_t kLanes = static_cast<std::int64_t>(Batch<S>::size);

inline float widen(BFloat16 value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}

inline float value_of(BFloat16 x) { return widen(x); }
inline float value_of(float x) { return x; }
inline double value_of(double x) { return x; }

// To nearest, ties to even; NaN stays NaN. (BFloat16's own constructor is shared by all object
// files, which kernels_impl.h forbids.)
inline BFloat16 narrow(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  BFloat16 result;
  result.bits = static_cast<std::uint16_t>(value != value ? (bits >> 16) | 0x40u : rounded);
  return result;
}

template <class S>
inline Batch<S> load(const S* from) {
  return Batch<S>::load_unaligned(from);
}
template <class S>
inline void store(const Batch<S>& batch, S* to) {
  batch.store_unaligned(to);
}

template <>
inline Batch<BFloat16> load(const BFloat16* from) {
#if defined(__AVX512F__)
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
#elif defined(__AVX2__)
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
#else
  alignas(64) float values[kLanes<BFloat16>];
  for (std::int64_t i = 0; i < kLanes<BFloat16>; ++i) values[i] = widen(from[i]);
  return Batch<BFloat16>::load_aligned(values);
#endif
}

#if defined(__AVX512F__)
inline __m256i narrowed(const Batch<BFloat16>& batch) {
#if defined(__AVX512BF16__)
  // Rounds as below, except that numbers under 2^-126 become zero.
  return (__m256i)_mm512_cvtneps_pbh(batch);
#else
  const __m512i bits = _mm512_castps_si512(batch);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, up), 16);
  const __mmask16 nan = _mm512_cmp_ps_mask(batch, batch, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(
      _mm512_mask_or_epi32(rounded, nan, _mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40)));
#endif
}
#elif defined(__AVX2__)
// Each in 32 bits.
inline __m256i narrowed_apart(const Batch<BFloat16>& batch) {
  const __m256i bits = _mm256_castps_si256(batch);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(batch, batch, _CMP_UNORD_Q));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x40 << 16));
  const __m256i rounded = _mm256_blendv_epi8(_mm256_add_epi32(bits, up), quiet, nan);
  // With its sign, every upper half is in the range of the narrowing instruction.
  return _mm256_srai_epi32(rounded, 16);
}
inline __m128i narrowed(const Batch<BFloat16>& batch) {
  const __m256i halves = narrowed_apart(batch);
  return _mm_packs_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}
#endif

template <>
inline void store(const Batch<BFloat16>& batch, BFloat16* to) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), narrowed(batch));
#elif defined(__AVX2__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), narrowed(batch));
#else
  alignas(64) float values[kLanes<BFloat16>];
  batch.store_aligned(values);
  for (std::int64_t i = 0; i < kLanes<BFloat16>; ++i) to[i] = narrow(values[i]);
#endif
}

// Two vectors next to each other: together they are packed in fewer steps.
template <class S>
inline void store_pair(const Batch<S>& first, const Batch<S>& second, S* to) {
  store(first, to);
  store(second, to + kLanes<S>);
}
#if defined(__AVX2__) && !defined(__AVX512F__)
template <>
inline void store_pair(const Batch<BFloat16>& first, const Batch<BFloat16>& second, BFloat16* to) {
  // Of both lanes: half of the first, half of the second.
  const __m256i halves = _mm256_packs_epi32(narrowed_apart(first), narrowed_apart(second));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(halves, 0xd8));
}
#endif

// The tail is computed in a full batch as well, so an element's value does not depend on where a
// piece of work ends.
template <class S>
struct Tail {
  alignas(64) S values[kLanes<S>] = {};
  Tail() = default;
  Tail(const S* from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = from[i];
  }
  Batch<S> get() const { return load(values); }
  void put(const Batch<S>& batch, S* to, std::int64_t n) {
    store(batch, values);
    for (std::int64_t i = 0; i < n; ++i) to[i] = values[i];
  }
};

// The first n lanes, of fewer than a batch has; the others are zero.
template <class S>
inline Batch<S> load_part(const S* from, std::int64_t n) {
  return Tail<S>(from, n).get();
}
template <class S>
inline void store_part(const Batch<S>& batch, S* to, std::int64_t n) {
  Tail<S>().put(batch, to, n);
}
template <class T>
inline xsimd::batch<T> first_lanes(const xsimd::batch<T>& batch, std::int64_t n) {
  Tail<T> tail;
  store(batch, tail.values);
  for (std::int64_t i = n; i < kLanes<T>; ++i) tail.values[i] = 0;
  return tail.get();
}
#if defined(__AVX512F__)
inline __mmask16 mask_of(std::int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
template <>
inline Batch<float> load_part(const float* from, std::int64_t n) {
  return _mm512_maskz_loadu_ps(mask_of(n), from);
}
template <>
inline void store_part(const Batch<float>& batch, float* to, std::int64_t n) {
  _mm512_mask_storeu_ps(to, mask_of(n), batch);
}
template <>
inline Batch<BFloat16> load_part(const BFloat16* from, std::int64_t n) {
  const __m256i halves = _mm256_maskz_loadu_epi16(mask_of(n), from);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
template <>
inline void store_part(const Batch<BFloat16>& batch, BFloat16* to, std::int64_t n) {
  _mm256_mask_storeu_epi16(to, mask_of(n), narrowed(batch));
}
template <>
inline Batch<float> first_lanes(const Batch<float>& batch, std::int64_t n) {
  return _mm512_maskz_mov_ps(mask_of(n), batch);
}
#elif defined(__AVX2__)
inline __m256i mask_of(std::int64_t n) {
  alignas(32) static const std::int32_t kMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask + 8 - n));
}
template <>
inline Batch<float> load_part(const float* from, std::int64_t n) {
  return _mm256_maskload_ps(from, mask_of(n));
}
// A masked store takes the processor longer.
template <>
inline void store_part(const Batch<float>& batch, float* to, std::int64_t n) {
  __m128 rest = _mm256_castps256_ps128(batch);
  if ((n & 4) != 0) {
    _mm_storeu_ps(to, rest);
    to += 4;
    rest = _mm256_extractf128_ps(batch, 1);
  }
  if ((n & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), rest);
    to += 2;
    rest = _mm_movehl_ps(rest, rest);
  }
  if ((n & 1) != 0) _mm_store_ss(to, rest);
}
template <>
inline Batch<float> first_lanes(const Batch<float>& batch, std::int64_t n) {
  return _mm256_and_ps(batch, _mm256_castsi256_ps(mask_of(n)));
}
#endif

// A vector of a row of channels: whole (kFull), or the last few channels.
template <bool kFull>
struct Lanes {
  std::int64_t count;

  template <class S>
  Batch<S> load(const S* from) const {
    if constexpr (kFull) {
      return simd::load(from);
    } else {
      return load_part(from, count);
    }
  }
  template <class S>
  void store(const Batch<S>& batch, S* to) const {
    if constexpr (kFull) {
      simd::store(batch, to);
    } else {
      store_part(batch, to, count);
    }
  }
};

// Calls visit(lanes, first channel) over all channels.
template <class S, class Visit>
inline void for_channels(std::int64_t channels, Visit visit) {
  std::int64_t c = 0;
  for (; c + kLanes<S> <= channels; c += kLanes<S>) visit(Lanes<true>{kLanes<S>}, c);
  if (c < channels) visit(Lanes<false>{channels - c}, c);
}

// y[i] = f(x0[i], x1[i], ...) for any number of inputs.
template <class F, class Y, class... X>
inline void map(std::int64_t n, F f, Y* y, const X*... x) {
  constexpr std::int64_t kWide = kLanes<Y>;
  std::int64_t i = 0;
  if constexpr (std::is_same_v<Y, BFloat16>) {
    for (; i + 2 * kWide <= n; i += 2 * kWide)
      store_pair(f(load(x + i)...), f(load(x + i + kWide)...), y + i);
  }
  for (; i + kWide <= n; i += kWide) store(f(load(x + i)...), y + i);
  if (i < n) store_part(f(load_part(x + i, n - i)...), y + i, n - i);
}

// To aligned memory, past the caches where the processor can.
inline void store_past(const Batch<float>& x, float* to) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, x);
#elif defined(__AVX2__)
  _mm256_stream_ps(to, x);
#else
  store(x, to);
#endif
}
inline void store_past(const Batch<double>& x, double* to) { store(x, to); }
inline void store_past(const Batch<BFloat16>& x, BFloat16* to) {
#if defined(__AVX512BF16__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(x));
#else
  store<BFloat16>(x, to);
#endif
}

// map() of whole vectors past the caches.
template <class F, class Y, class... X>
inline void map_past(std::int64_t n, F f, Y* y, const X*... x) {
  for (std::int64_t i = 0; i < n; i += kLanes<Y>) store_past(f(load(x + i)...), y + i);
}

// f over all lanes, halves onto halves.
template <class T, class F>
inline T fold(const xsimd::batch<T>& batch, F f) {
  alignas(64) T values[kLanes<T>];
  batch.store_aligned(values);
  for (std::int64_t width = kLanes<T> / 2; width > 0; width /= 2) {
    for (std::int64_t i = 0; i < width; ++i) values[i] = f(values[i], values[i + width]);
  }
  return values[0];
}
template <class T>
inline T horizontal_sum(const xsimd::batch<T>& batch) {
  return fold<T>(batch, [](T a, T b) { return a + b; });
}
template <class T>
inline T horizontal_max(const xsimd::batch<T>& batch) {
  return fold<T>(batch, [](T a, T b) { return a > b ? a : b; });
}
#if defined(__AVX512F__)
// In registers: the way through memory waits for its stores.
template <>
inline float horizontal_sum(const xsimd::batch<float>& batch) {
  return _mm512_reduce_add_ps(batch);
}
template <>
inline float horizontal_max(const xsimd::batch<float>& batch) {
  return _mm512_reduce_max_ps(batch);
}
#elif defined(__AVX2__)
template <>
inline float horizontal_sum(const xsimd::batch<float>& batch) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(batch), _mm256_extractf128_ps(batch, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
template <>
inline float horizontal_max(const xsimd::batch<float>& batch) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(batch), _mm256_extractf128_ps(batch, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
#endif

// Sum of f(x0[i], ...); two accumulators hide the latency of the additions.
template <class T, class F, class... X>
inline T accumulate(std::int64_t n, F f, const X*... x) {
  Batch<T> even(T{0});
  Batch<T> odd(T{0});
  std::int64_t i = 0;
  for (; i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {
    even += f(load(x + i)...);
    odd += f(load(x + i + kLanes<T>)...);
  }
  if (i + kLanes<T> <= n) {
    even += f(load(x + i)...);
    i += kLanes<T>;
  }
  if (i < n) odd += first_lanes(f(load_part(x + i, n - i)...), n - i);
  return horizontal_sum<T>(even + odd);
}

}  // namespace
}  // namespace fovea::cpu::simd
