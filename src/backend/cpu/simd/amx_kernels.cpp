// The kernels of amx.h. As in kernels_impl.h nothing here may be shared with other object files.
#include <immintrin.h>

#include "backend/cpu/simd/amx.h"
#include "backend/cpu/simd/transpose_avx512.h"

namespace fovea::cpu::simd {
namespace {

constexpr std::int64_t kTile = 16 * 32;  // elements of a tile: 16 rows of 64 bytes

// 32 numbers as a pair of float32 vectors; what is left of them after the parts taken so far.
struct Remainder {
  __m512 low, high;

  // Their bfloat16 roundings, which are taken away.
  __m512i take() {
    const __m512i part = (__m512i)_mm512_cvtne2ps_pbh(high, low);
    const auto widen = [](__m256i half) {
      return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
    };
    low = _mm512_sub_ps(low, widen(_mm512_castsi512_si256(part)));
    high = _mm512_sub_ps(high, widen(_mm512_extracti64x4_epi64(part, 1)));
    return part;
  }
};

inline __mmask16 first(std::int64_t n) {
  return n >= 16 ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1u << n) - 1);
}

// (l0, l1, ..., h0, h1, ...) -> (l0, h0, l1, h1, ...)
inline __m512i interleave(__m512i halves) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, halves);
}

// Reads rows of 32 elements, or pairs of rows of 16, and takes them apart.
template <class S>
struct Reader;

template <>
struct Reader<float> {
  static constexpr int kParts = 3;
  static void row(const float* x, std::int64_t n, __m512i* parts, std::int64_t stride) {
    Remainder r{_mm512_maskz_loadu_ps(first(n), x), _mm512_maskz_loadu_ps(first(n - 16), x + 16)};
    for (int i = 0; i < kParts; ++i) parts[i * stride] = r.take();
  }
  static void pair(const float* x, const float* next, std::int64_t n, __m512i* parts,
                   std::int64_t stride) {
    Remainder r{_mm512_maskz_loadu_ps(first(n), x),
                _mm512_maskz_loadu_ps(next == nullptr ? 0 : first(n), next)};
    for (int i = 0; i < kParts; ++i) parts[i * stride] = interleave(r.take());
  }
};

template <>
struct Reader<BFloat16> {
  static constexpr int kParts = 1;
  static void row(const BFloat16* x, std::int64_t n, __m512i* parts, std::int64_t) {
    const __mmask32 mask = n >= 32 ? ~0u : n <= 0 ? 0 : (1u << n) - 1;
    *parts = _mm512_maskz_loadu_epi16(mask, x);
  }
  static void pair(const BFloat16* x, const BFloat16* next, std::int64_t n, __m512i* parts,
                   std::int64_t) {
    const __m256i low = _mm256_maskz_loadu_epi16(first(n), x);
    const __m256i high = _mm256_maskz_loadu_epi16(next == nullptr ? 0 : first(n), next);
    *parts = interleave(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
  }
};

// A tile of the left operand holds 16 rows of 32 elements along the inner axis; one of the right
// 16 pairs of them, for 16 columns each. Seen as 32-bit pairs either is the transpose of the other,
// and how an operand is stored decides which of the two it is read as.
template <class S>
void pack(bool left, const AmxPanel<S>& panel, std::int64_t steps, BFloat16* to) {
  constexpr int kParts = Reader<S>::kParts;
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t inner = step * 32;
    const std::int64_t depth = panel.inner - inner;
    for (std::int64_t tile = 0; tile < 2; ++tile) {
      const std::int64_t outer = panel.outer - tile * 16;
      __m512i rows[kParts][16];
      for (std::int64_t i = 0; i < 16; ++i) {
        if (panel.inner_contiguous) {
          const S* x = panel.x + (tile * 16 + i) * panel.ld + inner;
          Reader<S>::row(x, i < outer ? depth : 0, &rows[0][i], 16);
        } else {
          const S* x = panel.x + (inner + 2 * i) * panel.ld + tile * 16;
          Reader<S>::pair(x, 2 * i + 1 < depth ? x + panel.ld : nullptr, 2 * i < depth ? outer : 0,
                          &rows[0][i], 16);
        }
      }
      for (int part = 0; part < kParts; ++part) {
        __m512i* from = rows[part];
        if (panel.inner_contiguous != left) transpose16(reinterpret_cast<__m512*>(from));
        BFloat16* here = to + ((step * kParts + part) * 2 + tile) * kTile;
        for (std::int64_t i = 0; i < 16; ++i) _mm512_store_si512(here + i * 32, from[i]);
      }
    }
  }
}

// Tiles 0-3 are sums, 4 and 5 the two of the left operand, 6 and 7 those of the right.
template <bool kRows, bool kColumns>
inline void load_left(const BFloat16* from) {
  _tile_loadd(4, from, 64);
  if constexpr (kRows) _tile_loadd(5, from + kTile, 64);
}
template <bool kRows, bool kColumns>
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
void multiply_block(const BFloat16* left, const BFloat16* right, std::int64_t steps, float* sums) {
  constexpr std::int64_t kPart = 2 * kTile;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t step = 0; step < steps; ++step) {
    load_left<kRows, kColumns>(left);
    load_right<kRows, kColumns>(right);
    add_products<kRows, kColumns>();
    if constexpr (kParts == 3) {
      // Every next product needs one new operand only.
      load_right<kRows, kColumns>(right + kPart);
      add_products<kRows, kColumns>();
      load_right<kRows, kColumns>(right + 2 * kPart);
      add_products<kRows, kColumns>();
      load_left<kRows, kColumns>(left + kPart);
      load_right<kRows, kColumns>(right + kPart);
      add_products<kRows, kColumns>();
      load_right<kRows, kColumns>(right);
      add_products<kRows, kColumns>();
      load_left<kRows, kColumns>(left + 2 * kPart);
      add_products<kRows, kColumns>();
    }
    left += kParts * kPart;
    right += kParts * kPart;
  }
  constexpr std::int64_t kBytes = kPanel * sizeof(float);
  _tile_stored(0, sums, kBytes);
  _tile_stored(1, sums + 16, kBytes);
  _tile_stored(2, sums + 16 * kPanel, kBytes);
  _tile_stored(3, sums + 16 * kPanel + 16, kBytes);
}

template <int kParts>
void multiply(const BFloat16* left, const BFloat16* right, std::int64_t steps, bool short_rows,
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
  return {{3, pack<float>, multiply<3>},
          {1, pack<BFloat16>, multiply<1>},
          finish<float>,
          finish<BFloat16>,
          begin,
          end};
}

}  // namespace fovea::cpu::simd
