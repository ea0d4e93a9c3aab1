// The kernels of amx.h. As in kernels_impl.h nothing here may be shared with other object files.
#include <immintrin.h>

#include "backend/cpu/simd/amx.h"
#include "backend/cpu/simd/transpose_avx512.h"

namespace fovea::cpu::simd {
namespace {

constexpr std::int64_t kTile = 16 * 32;  // elements of a tile: 16 rows of 64 bytes

inline __mmask16 first(std::int64_t n) {
  return n >= 16 ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1u << n) - 1);
}

// A tile of the left operand holds 16 rows of 32 elements along the inner axis, one of the right 16
// pairs of such elements for 16 columns. As 32-bit pairs either is the transpose of the other, and
// how an operand is stored decides which of the two it is read as. Which elements make a pair does
// not matter as long as both operands agree.
template <class S>
struct Tile;

// Pairs are (i, i + 16).
template <>
struct Tile<float> {
  static constexpr int kParts = 3;
  __m512 low[16], high[16];

  void read_inner(int i, const float* x, std::int64_t n) {
    low[i] = _mm512_maskz_loadu_ps(first(n), x);
    high[i] = _mm512_maskz_loadu_ps(first(n - 16), x + 16);
  }
  void read_outer(int i, const float* x, std::int64_t ld, std::int64_t depth, std::int64_t n) {
    low[i] = _mm512_maskz_loadu_ps(i < depth ? first(n) : 0, x + i * ld);
    high[i] = _mm512_maskz_loadu_ps(i + 16 < depth ? first(n) : 0, x + (i + 16) * ld);
  }
  void transpose() {
    transpose16(low);
    transpose16(high);
  }
  // The bfloat16 rounding of a number (ties away from zero), as the upper half of the result.
  static __m512i rounded(__m512 x) {
    return upper(_mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000)));
  }
  static __m512i upper(__m512i x) {
    return _mm512_and_si512(x, _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
  }
  // What rounds to an infinity or is none of the numbers leaves NaN as its last part.
  bool write(BFloat16* to, std::int64_t stride) const {
    __mmask16 refused = 0;
    for (int i = 0; i < 16; ++i, to += 32) {
      __m512 l = low[i];
      __m512 h = high[i];
      for (int part = 0; part + 1 < kParts; ++part) {
        const __m512i lower = rounded(l);
        const __m512i higher = rounded(h);
        _mm512_store_si512(to + part * stride,
                           _mm512_or_si512(_mm512_srli_epi32(lower, 16), higher));
        l = _mm512_sub_ps(l, _mm512_castsi512_ps(lower));
        h = _mm512_sub_ps(h, _mm512_castsi512_ps(higher));
      }
      // Of 24 bits 8 are left, or fewer.
      const __m512i lower = _mm512_srli_epi32(_mm512_castps_si512(l), 16);
      _mm512_store_si512(to + (kParts - 1) * stride,
                         _mm512_or_si512(lower, upper(_mm512_castps_si512(h))));
      refused |= _mm512_cmp_ps_mask(l, h, _CMP_UNORD_Q);
    }
    return refused == 0;
  }
};

// Pairs are neighbours.
template <>
struct Tile<BFloat16> {
  static constexpr int kParts = 1;
  __m512 pairs[16];

  void read_inner(int i, const BFloat16* x, std::int64_t n) {
    const __mmask32 mask = n >= 32 ? ~0u : n <= 0 ? 0 : (1u << n) - 1;
    pairs[i] = _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, x));
  }
  void read_outer(int i, const BFloat16* x, std::int64_t ld, std::int64_t depth, std::int64_t n) {
    const auto row = [&](std::int64_t k) {
      return _mm256_maskz_loadu_epi16(k < depth ? first(n) : 0, x + k * ld);
    };
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i rows = _mm512_inserti64x4(_mm512_castsi256_si512(row(2 * i)), row(2 * i + 1), 1);
    pairs[i] = _mm512_castsi512_ps(_mm512_permutexvar_epi16(order, rows));
  }
  void transpose() { transpose16(pairs); }
  bool write(BFloat16* to, std::int64_t) const {
    for (int i = 0; i < 16; ++i) _mm512_store_ps(to + i * 32, pairs[i]);
    return true;
  }
};

template <class S>
bool pack(bool left, const AmxPanel<S>& panel, std::int64_t steps, BFloat16* to) {
  constexpr std::int64_t kPart = 2 * kTile;
  bool taken = true;
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t depth = panel.inner - step * kPanel;
    for (std::int64_t half = 0; half < 2; ++half) {
      const std::int64_t outer = panel.outer - half * 16;
      Tile<S> tile;
      if (panel.inner_contiguous) {
        const S* x = panel.x + half * 16 * panel.ld + step * kPanel;
        for (int i = 0; i < 16; ++i) tile.read_inner(i, x + i * panel.ld, i < outer ? depth : 0);
      } else {
        const S* x = panel.x + step * kPanel * panel.ld + half * 16;
        for (int i = 0; i < 16; ++i) {
          // The processor does not foresee rows that are far apart.
          _mm_prefetch(x + (kPanel + 2 * i) * panel.ld, _MM_HINT_T0);
          _mm_prefetch(x + (kPanel + 2 * i + 1) * panel.ld, _MM_HINT_T0);
          tile.read_outer(i, x, panel.ld, depth, outer);
        }
      }
      if (panel.inner_contiguous != left) tile.transpose();
      taken &= tile.write(to + step * Tile<S>::kParts * kPart + half * kTile, kPart);
    }
  }
  return taken;
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

template <class C>
void finish(const float* sums, const AmxResult<C>& result) {
  for (std::int64_t column = 0; column < result.columns; column += 16) {
    const __mmask16 mask = first(result.columns - column);
    const __m512 bias =
        result.bias == nullptr ? _mm512_setzero_ps() : load(mask, result.bias + column);
    for (std::int64_t row = 0; row < result.rows; ++row) {
      C* c = result.c + row * result.ldc + column;
      __m512 sum = _mm512_add_ps(_mm512_load_ps(sums + row * kPanel + column), bias);
      if (result.accumulate) sum = _mm512_add_ps(load(mask, c), sum);
      store(mask, sum, c);
    }
  }
}

// All eight tiles: 16 rows of 64 bytes. (The intrinsic does not tell the compiler what it reads, so
// this is not a local variable.)
struct alignas(64) Shapes {
  std::uint8_t palette = 1, start = 0, unused[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
const Shapes kShapes;

void begin() { _tile_loadconfig(&kShapes); }

void end() { _tile_release(); }

}  // namespace

AmxTable amx_table() {
  return {.f32 = {.parts = 3, .pack = pack<float>, .multiply = multiply<3>},
          .bf16 = {.parts = 1, .pack = pack<BFloat16>, .multiply = multiply<1>},
          .finish_f32 = finish<float>,
          .finish_bf16 = finish<BFloat16>,
          .begin = begin,
          .end = end};
}

}  // namespace fovea::cpu::simd
