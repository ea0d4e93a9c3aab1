// Transposes of 32-bit elements in AVX-512 registers; for sources built with that instruction set.
#pragma once

#include <immintrin.h>

namespace fovea::cpu::simd {
namespace {

/// 16 x 16 elements, rows[i] being row i, in place. Four rounds of exchanging halves of pairs:
/// lanes, pairs of lanes, quarters, halves.
inline void transpose16(__m512* rows) {
  __m512 a[16], b[16];
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
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
    rows[i] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0xdd);
    rows[i + 4] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0x88);
    rows[i + 12] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0xdd);
  }
}

}  // namespace
}  // namespace fovea::cpu::simd
