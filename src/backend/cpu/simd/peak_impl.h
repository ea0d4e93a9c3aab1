// Loops that only compute, or only move: what the processor reaches at most (backend/peaks.h); part
// of kernels_impl.h.
#pragma once

#include "backend/cpu/simd/batch_impl.h"

namespace fovea::cpu::simd {
namespace {

// Sums that do not wait for each other: two units with latencies of up to six, and three registers
// of 16 are left.
constexpr int kChains = 12;

// x = x a + b of every chain, which stays near 1. The product depends on the chain, so that it is
// computed in every turn also where it is an instruction of its own.
template <class S>
std::int64_t multiply_adds(std::int64_t turns, Compute<S>* to) {
  using C = Compute<S>;
  using B = Batch<S>;
  std::int64_t lanes = kLanes<S>;
  const B a(C(0.5)), b(C(0.5));
  B sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sums[i] = B(C(i));
#if defined(__AVX512BF16__)
  if constexpr (std::is_same_v<S, BFloat16>) {
    lanes *= 2;
    const __m512bh pairs = (__m512bh)_mm512_set1_epi32(0);
    for (std::int64_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 12
      for (int i = 0; i < kChains; ++i) sums[i] = B(_mm512_dpbf16_ps(sums[i], pairs, pairs));
    }
  } else
#endif
  {
    for (std::int64_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 12
      for (int i = 0; i < kChains; ++i) sums[i] = xsimd::fma(sums[i], a, b);
    }
  }
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sums[0] = sums[0] + sums[i];
  sums[0].store_unaligned(to);
  return turns * kChains * lanes;
}

#if defined(__AVX512F__)
inline void stream(const Batch<float>& x, float* to) { _mm512_stream_ps(to, x); }
inline void stream(const Batch<double>& x, double* to) { _mm512_stream_pd(to, x); }
#elif defined(__AVX__)
inline void stream(const Batch<float>& x, float* to) { _mm256_stream_ps(to, x); }
inline void stream(const Batch<double>& x, double* to) { _mm256_stream_pd(to, x); }
#elif defined(__SSE2__)
inline void stream(const Batch<float>& x, float* to) { _mm_stream_ps(to, x); }
inline void stream(const Batch<double>& x, double* to) { _mm_stream_pd(to, x); }
#else
template <class T>
inline void stream(const xsimd::batch<T>& x, T* to) {
  x.store_aligned(to);
}
#endif

// Copies add a number, or the compiler would call the library's copy, which chooses for itself
// whether it goes past the caches.
template <Pass kPass, class T>
T pass_as(const T* x, T* y, std::int64_t n) {
  constexpr int kBatches = 8;
  constexpr bool kReads = kPass != Pass::kWrite && kPass != Pass::kStreamWrite;
  const Batch<T> one(T{1});
  Batch<T> sums[kBatches];
#pragma GCC unroll 8
  for (int k = 0; k < kBatches; ++k) sums[k] = one;
  for (std::int64_t i = 0; i < n; i += kBatches * kLanes<T>) {
#pragma GCC unroll 8
    for (int k = 0; k < kBatches; ++k) {
      Batch<T> value = one;
      if constexpr (kReads) value = Batch<T>::load_aligned(x + i + k * kLanes<T>);
      if constexpr (kPass == Pass::kCopy || kPass == Pass::kStreamCopy) value = value + one;
      if constexpr (kPass == Pass::kRead) {
        sums[k] = sums[k] + value;
      } else if constexpr (kPass == Pass::kStreamWrite || kPass == Pass::kStreamCopy) {
        stream(value, y + i + k * kLanes<T>);
      } else {
        value.store_aligned(y + i + k * kLanes<T>);
      }
    }
  }
#pragma GCC unroll 8
  for (int k = 1; k < kBatches; ++k) sums[0] = sums[0] + sums[k];
  alignas(64) T parts[kLanes<T>];
  sums[0].store_aligned(parts);
  return parts[0];
}

template <class T>
T pass(Pass how, const T* x, T* y, std::int64_t n) {
  switch (how) {
    case Pass::kRead:
      return pass_as<Pass::kRead>(x, y, n);
    case Pass::kWrite:
      return pass_as<Pass::kWrite>(x, y, n);
    case Pass::kCopy:
      return pass_as<Pass::kCopy>(x, y, n);
    case Pass::kStreamWrite:
      return pass_as<Pass::kStreamWrite>(x, y, n);
    case Pass::kStreamCopy:
      return pass_as<Pass::kStreamCopy>(x, y, n);
  }
  return 0;
}

}  // namespace
}  // namespace fovea::cpu::simd
