// Small matrices copied in and out of larger tensors; part of kernels_impl.h, which see.
#pragma once

#include "backend/cpu/simd/batch_impl.h"

namespace fovea::cpu::simd {
namespace {

template <class S>
void take_rows(const S* x, std::int64_t ldx, Compute<S>* y, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    map(
        n, [](Batch<S> xi) { return xi; }, y + r * n, x + r * ldx);
  }
}

template <class S>
void put_rows(Compute<S> scale, const Compute<S>* x, bool add, S* y, std::int64_t ldy,
              std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    S* to = y + r * ldy;
    if (add) {
      map(
          n, [=](Batch<S> xi, Batch<S> yi) { return yi + scale * xi; }, to, x + r * n,
          static_cast<const S*>(to));
    } else {
      map(
          n, [=](Batch<S> xi) { return scale * xi; }, to, x + r * n);
    }
  }
}

// A square of as many rows as a vector has lanes, columns [0, columns) of it, to y with rows ldy
// apart.
template <class T>
inline void transpose_square(const xsimd::batch<T>* rows, T* y, std::int64_t ldy,
                             std::int64_t columns) {
  alignas(64) T square[kLanes<T>][kLanes<T>];
  for (std::int64_t r = 0; r < kLanes<T>; ++r) rows[r].store_aligned(square[r]);
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < kLanes<T>; ++r) y[c * ldy + r] = square[r][c];
  }
}

#if defined(__AVX512F__)
// Four rounds of exchanging halves of pairs: lanes, pairs of lanes, quarters, halves.
template <>
inline void transpose_square(const xsimd::batch<float>* rows, float* y, std::int64_t ldy,
                             std::int64_t columns) {
  __m512 a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = rows[i];
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
  }
  const auto pairs = [](__m512 l, __m512 r, bool high) {
    const __m512d x = _mm512_castps_pd(l);
    const __m512d z = _mm512_castps_pd(r);
    return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(x, z) : _mm512_unpacklo_pd(x, z));
  };
  for (int i = 0; i < 16; i += 4) {
    a[i] = pairs(b[i], b[i + 2], false);
    a[i + 1] = pairs(b[i], b[i + 2], true);
    a[i + 2] = pairs(b[i + 1], b[i + 3], false);
    a[i + 3] = pairs(b[i + 1], b[i + 3], true);
  }
  for (int i = 0; i < 4; ++i) {
    b[i] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88);
    b[i + 4] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd);
    b[i + 8] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88);
    b[i + 12] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    a[i] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88);
    a[i + 8] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0xdd);
    a[i + 4] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0x88);
    a[i + 12] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0xdd);
  }
  for (std::int64_t c = 0; c < columns; ++c) _mm512_storeu_ps(y + c * ldy, a[c]);
}
#endif

template <class S>
void take_columns(const S* x, std::int64_t ldx, Compute<S>* y, std::int64_t ldy, std::int64_t rows,
                  std::int64_t n) {
  using B = Batch<S>;
  for (std::int64_t r = 0; r < ldy; r += kLanes<S>) {
    for (std::int64_t c = 0; c < n; c += kLanes<S>) {
      const std::int64_t columns = n - c < kLanes<S> ? n - c : kLanes<S>;
      B square[kLanes<S>];
      for (std::int64_t i = 0; i < kLanes<S>; ++i) {
        const S* from = x + (r + i) * ldx + c;
        square[i] = r + i >= rows         ? B(Compute<S>{0})
                    : columns < kLanes<S> ? Tail<S>(from, columns).get()
                                          : load(from);
      }
      transpose_square(square, y + c * ldy + r, ldy, columns);
    }
  }
}

}  // namespace
}  // namespace fovea::cpu::simd
