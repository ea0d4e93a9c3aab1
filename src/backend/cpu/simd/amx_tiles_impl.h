// Tile registers: what amx_kernels.cpp and amx_product.cpp share. As in kernels_impl.h nothing here
// may be shared with other object files.
#pragma once

#include <immintrin.h>

#include "backend/cpu/simd/amx.h"

namespace fovea::cpu::simd {
namespace {

constexpr std::int64_t kTile = 16 * 32;  // elements of a tile: 16 rows of 64 bytes

inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

inline __mmask16 first(std::int64_t n) {
  return n >= 16 ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1u << n) - 1);
}

// A tile of the left operand holds 16 rows of 32 elements along the inner axis, one of the right 16
// pairs of such elements for 16 columns. As 32-bit pairs either is the transpose of the other, and
// how an operand is stored decides which of the two it is read as. Which elements make a pair does
// not matter as long as both operands agree.

// The upper half of the result is the bfloat16 rounding of a number (ties away from zero).
inline __m512i rounded(__m512 x) {
  return _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
}
inline __m512 upper(__m512i x) {
  return _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}
// The upper halves of two numbers as a pair.
inline __m512i pair(__m512i low, __m512i high) {
  return _mm512_mask_mov_epi16(_mm512_srli_epi32(low, 16), 0xaaaaaaaa, high);
}

// Tiles 0-3 are sums, 4 and 5 the two of the left operand, 6 and 7 those of the right.
template <bool kRows>
inline void load_left(const AmxRows& rows, const BFloat16* from) {
  const std::int64_t bytes = rows.row * 2;
  _tile_loadd(4, from, bytes);
  if constexpr (kRows) _tile_loadd(5, from + rows.tile, bytes);
}
template <bool kColumns>
inline void load_right(const BFloat16* from) {
  _tile_loadd(6, from, 64);
  if constexpr (kColumns) _tile_loadd(7, from + kTile, 64);
}
template <bool kRows, bool kColumns>
inline void add_products() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kColumns) _tile_dpbf16ps(1, 4, 7);
  if constexpr (kRows) _tile_dpbf16ps(2, 5, 6);
  if constexpr (kRows && kColumns) _tile_dpbf16ps(3, 5, 7);
}

// kRows, kColumns: more than 16 of them.
template <int kParts, bool kRows, bool kColumns>
void multiply_block(const AmxRows& rows, const BFloat16* right, std::int64_t steps, float* sums) {
  const BFloat16* left = rows.x;
  constexpr std::int64_t kPart = 2 * kTile;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t step = 0; step < steps; ++step) {
    load_left<kRows>(rows, left);
    load_right<kColumns>(right);
    add_products<kRows, kColumns>();
    if constexpr (kParts == 3) {
      // Every next product needs one new operand only.
      load_right<kColumns>(right + kPart);
      add_products<kRows, kColumns>();
      load_right<kColumns>(right + 2 * kPart);
      add_products<kRows, kColumns>();
      load_left<kRows>(rows, left + kPart);
      load_right<kColumns>(right + kPart);
      add_products<kRows, kColumns>();
      load_right<kColumns>(right);
      add_products<kRows, kColumns>();
      load_left<kRows>(rows, left + 2 * kPart);
      add_products<kRows, kColumns>();
    }
    left += rows.step;
    right += kParts * kPart;
  }
  constexpr std::int64_t kBytes = kPanel * sizeof(float);
  _tile_stored(0, sums, kBytes);
  _tile_stored(1, sums + 16, kBytes);
  _tile_stored(2, sums + 16 * kPanel, kBytes);
  _tile_stored(3, sums + 16 * kPanel + 16, kBytes);
}

template <int kParts>
void multiply(const AmxRows& left, const BFloat16* right, std::int64_t steps, bool short_rows,
              bool short_columns, float* sums) {
  if (short_rows) {
    if (short_columns) return multiply_block<kParts, false, false>(left, right, steps, sums);
    return multiply_block<kParts, false, true>(left, right, steps, sums);
  }
  if (short_columns) return multiply_block<kParts, true, false>(left, right, steps, sums);
  multiply_block<kParts, true, true>(left, right, steps, sums);
}

inline __m512 load(__mmask16 mask, const float* from) { return _mm512_maskz_loadu_ps(mask, from); }
inline __m512 load(__mmask16 mask, const BFloat16* from) {
  const __m256i halves = _mm256_maskz_loadu_epi16(mask, from);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
inline void store(__mmask16 mask, __m512 x, float* to) { _mm512_mask_storeu_ps(to, mask, x); }
inline void store(__mmask16 mask, __m512 x, BFloat16* to) {
  _mm256_mask_storeu_epi16(to, mask, (__m256i)_mm512_cvtneps_pbh(x));
}

// All eight tiles: 16 rows of 64 bytes. (The intrinsic does not tell the compiler what it reads, so
// this is not a local variable.)
struct alignas(64) Shapes {
  std::uint8_t palette = 1, start = 0, unused[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
const Shapes kShapes;

inline void begin() { _tile_loadconfig(&kShapes); }

inline void end() {
  _tile_release();
  _mm_sfence();  // other threads then see what was written past the caches
}

}  // namespace
}  // namespace fovea::cpu::simd
