// Inner loops of depthwise convolutions; part of kernels_impl.h.
#pragma once

#include "backend/cpu/simd/batch_impl.h"

namespace fovea::cpu::simd {
namespace {

// `Vectors` accumulators stay in registers over all taps.
template <class T, int Vectors>
inline void correlate_block(const T* x, const std::int64_t* distances, const T* w,
                            std::int64_t taps, T* y) {
  using B = xsimd::batch<T>;
  constexpr std::int64_t kWidth = static_cast<std::int64_t>(B::size);
  B sums[Vectors];
  for (int v = 0; v < Vectors; ++v) sums[v] = B::load_unaligned(y + v * kWidth);
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const T* from = x + distances[tap];
    const B weight(w[tap]);
    for (int v = 0; v < Vectors; ++v) sums[v] += weight * B::load_unaligned(from + v * kWidth);
  }
  for (int v = 0; v < Vectors; ++v) sums[v].store_unaligned(y + v * kWidth);
}

template <class T>
void correlate(const T* x, const std::int64_t* distances, const T* w, std::int64_t taps, T* y,
               std::int64_t n) {
  constexpr std::int64_t kWidth = static_cast<std::int64_t>(xsimd::batch<T>::size);
  std::int64_t i = 0;
  for (; i + 3 * kWidth < n; i += 4 * kWidth)
    correlate_block<T, 4>(x + i, distances, w, taps, y + i);
  for (; i + kWidth < n; i += 2 * kWidth) correlate_block<T, 2>(x + i, distances, w, taps, y + i);
  if (i < n) correlate_block<T, 1>(x + i, distances, w, taps, y + i);
}

// sums[tap] += sum over i of g[i] x[i + distances[tap]] for `Taps` taps at once.
template <class T, int Taps>
inline void correlate_sums_block(const T* g, const T* x, const std::int64_t* distances,
                                 double* sums, std::int64_t n) {
  using B = xsimd::batch<T>;
  constexpr std::int64_t kWidth = static_cast<std::int64_t>(B::size);
  B parts[Taps];
  for (int tap = 0; tap < Taps; ++tap) parts[tap] = B(T{0});
  for (std::int64_t i = 0; i < n; i += kWidth) {
    const B gradient = B::load_unaligned(g + i);
    for (int tap = 0; tap < Taps; ++tap) {
      parts[tap] += gradient * B::load_unaligned(x + distances[tap] + i);
    }
  }
  for (int tap = 0; tap < Taps; ++tap) {
    sums[tap] += static_cast<double>(horizontal_sum<T>(parts[tap]));
  }
}

template <class T>
void correlate_sums(const T* g, const T* x, const std::int64_t* distances, std::int64_t taps,
                    double* sums, std::int64_t n) {
  std::int64_t tap = 0;
  for (; tap + 8 <= taps; tap += 8) {
    correlate_sums_block<T, 8>(g, x, distances + tap, sums + tap, n);
  }
  for (; tap + 2 <= taps; tap += 2) {
    correlate_sums_block<T, 2>(g, x, distances + tap, sums + tap, n);
  }
  if (tap < taps) correlate_sums_block<T, 1>(g, x, distances + tap, sums + tap, n);
}

}  // namespace
}  // namespace fovea::cpu::simd
