// The kernels of amx.h. As in kernels_impl.h nothing here may be shared with other object files.
#include <immintrin.h>

#include "backend/cpu/simd/amx.h"
#include "backend/cpu/simd/transpose_avx512.h"

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

// Of float32 numbers in three parts. Pairs are (i, i + 16).
struct FloatTile {
  using Source = float;
  static constexpr int kParts = 3;
  struct Row {
    __m512 low, high;
  };

  static Row read_inner(const float* x, std::int64_t n) {
    return {_mm512_maskz_loadu_ps(first(n), x), _mm512_maskz_loadu_ps(first(n - 16), x + 16)};
  }
  static Row read_outer(int i, const float* x, std::int64_t ld, std::int64_t depth,
                        std::int64_t n) {
    return {_mm512_maskz_loadu_ps(i < depth ? first(n) : 0, x + i * ld),
            _mm512_maskz_loadu_ps(i + 16 < depth ? first(n) : 0, x + (i + 16) * ld)};
  }
  static void transpose(Row* rows) {
    __m512 low[16], high[16];
    for (int i = 0; i < 16; ++i) low[i] = rows[i].low;
    transpose16(low);
    for (int i = 0; i < 16; ++i) high[i] = rows[i].high;
    transpose16(high);
    for (int i = 0; i < 16; ++i) rows[i] = {low[i], high[i]};
  }
  // What rounds to an infinity or is none of the numbers leaves NaN as its last part.
  static __mmask16 write(const Row& row, BFloat16* to, std::int64_t stride) {
    __m512 l = row.low;
    __m512 h = row.high;
    for (int part = 0; part + 1 < kParts; ++part) {
      const __m512i lower = rounded(l);
      const __m512i higher = rounded(h);
      _mm512_store_si512(to + part * stride, pair(lower, higher));
      l = _mm512_sub_ps(l, upper(lower));
      h = _mm512_sub_ps(h, upper(higher));
    }
    // Of 24 bits 8 are left, or fewer.
    _mm512_store_si512(to + (kParts - 1) * stride,
                       pair(_mm512_castps_si512(l), _mm512_castps_si512(h)));
    return _mm512_cmp_ps_mask(l, h, _CMP_UNORD_Q);
  }
};

// Of bfloat16 numbers. Pairs are neighbours.
struct BFloat16Tile {
  using Source = BFloat16;
  static constexpr int kParts = 1;
  using Row = __m512;

  static Row read_inner(const BFloat16* x, std::int64_t n) {
    const __mmask32 mask = n >= 32 ? ~0u : n <= 0 ? 0 : (1u << n) - 1;
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, x));
  }
  static Row read_outer(int i, const BFloat16* x, std::int64_t ld, std::int64_t depth,
                        std::int64_t n) {
    const auto row = [&](std::int64_t k) {
      return _mm256_maskz_loadu_epi16(k < depth ? first(n) : 0, x + k * ld);
    };
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i rows = _mm512_inserti64x4(_mm512_castsi256_si512(row(2 * i)), row(2 * i + 1), 1);
    return _mm512_castsi512_ps(_mm512_permutexvar_epi16(order, rows));
  }
  static void transpose(Row* rows) { transpose16(rows); }
  static __mmask16 write(Row row, BFloat16* to, std::int64_t) {
    _mm512_store_ps(to, row);
    return 0;
  }
};

// Half a panel, 16 along the outer and 32 along the inner axis, as one tile a part. kLines: lines
// of memory lie along the inner axis. kWhole: all of the elements are there, else `outer` and
// `inner` of them and zeros. Without a transposition every line is written at once.
template <class Tile, bool kLines, bool kTranspose, bool kWhole, class S = typename Tile::Source>
__mmask16 pack_half(const S* x, std::int64_t ld, std::int64_t outer, std::int64_t inner,
                    BFloat16* to) {
  constexpr std::int64_t kPart = 2 * kTile;
  const auto read = [&](int i) {
    if constexpr (kLines) {
      return Tile::read_inner(x + i * ld, kWhole ? 32 : i < outer ? inner : 0);
    } else {
      // The processor does not foresee rows that are far apart.
      _mm_prefetch(x + (2 * kPanel + 2 * i) * ld, _MM_HINT_T0);
      _mm_prefetch(x + (2 * kPanel + 2 * i + 1) * ld, _MM_HINT_T0);
      return Tile::read_outer(i, x, ld, kWhole ? 32 : inner, kWhole ? 16 : outer);
    }
  };
  __mmask16 refused = 0;
  if constexpr (kTranspose) {
    typename Tile::Row rows[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) rows[i] = read(i);
    Tile::transpose(rows);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) refused |= Tile::write(rows[i], to + i * 32, kPart);
  } else {
#pragma GCC unroll 4
    for (int i = 0; i < 16; ++i) refused |= Tile::write(read(i), to + i * 32, kPart);
  }
  return refused;
}

template <class Tile, bool kLines, bool kTranspose, class S = typename Tile::Source>
bool pack_steps(const AmxPanel<S>& panel, std::int64_t steps, BFloat16* to) {
  __mmask16 refused = 0;
  const std::int64_t ld = panel.ld;
  for (std::int64_t step = 0; step < steps; ++step, to += Tile::kParts * 2 * kTile) {
    const std::int64_t inner = panel.inner - step * kPanel;
    for (std::int64_t half = 0; half < 2; ++half) {
      const std::int64_t outer = panel.outer - half * 16;
      const S* x =
          panel.x + (kLines ? half * 16 * ld + step * kPanel : step * kPanel * ld + half * 16);
      const auto part = outer >= 16 && inner >= kPanel ? pack_half<Tile, kLines, kTranspose, true>
                                                       : pack_half<Tile, kLines, kTranspose, false>;
      refused |= part(x, ld, outer, inner, to + half * kTile);
    }
  }
  return refused == 0;
}

template <class Tile, class S = typename Tile::Source>
bool pack(bool left, const AmxPanel<S>& panel, std::int64_t steps, BFloat16* to) {
  if (panel.inner_contiguous) {
    if (left) return pack_steps<Tile, true, false>(panel, steps, to);
    return pack_steps<Tile, true, true>(panel, steps, to);
  }
  if (left) return pack_steps<Tile, false, true>(panel, steps, to);
  return pack_steps<Tile, false, false>(panel, steps, to);
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

// An operand of product(): its elements are `outer_step` apart along the axis of the result and
// `inner_step` along the other; one of the two is 1.
struct Operand {
  const float* x;
  std::int64_t outer_step, inner_step;
  float scale;  // of all elements, before they are rounded

  const float* at(std::int64_t outer, std::int64_t inner) const {
    return x + outer * outer_step + inner * inner_step;
  }
};

// Half a panel, 16 along the outer and 32 along the inner axis, rounded to bfloat16 as one tile.
// Pairs are (i, i + 16) along the inner axis. kLines: lines of memory lie along it. kWhole: all of
// the elements are there, else `outer` and `inner` of them and zeros.
template <bool kLines, bool kTranspose, bool kWhole>
void pack_rounded(const float* x, std::int64_t ld, float scale, std::int64_t outer,
                  std::int64_t inner, BFloat16* to) {
  const std::int64_t lines = kLines ? outer : inner;
  const __mmask16 low = first(kLines ? inner : outer);
  const __mmask16 high = first(kLines ? inner - 16 : outer);
  const std::int64_t apart = kLines ? 16 : 16 * ld;
  const __m512 factor = _mm512_set1_ps(scale);
  __m512 pairs[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i, x += ld) {
    __m512 l, h;
    if constexpr (kWhole) {
      l = _mm512_loadu_ps(x);
      h = _mm512_loadu_ps(x + apart);
    } else {
      l = load(i < lines ? low : 0, x);
      h = load((kLines ? i : i + 16) < lines ? high : 0, x + apart);
    }
    pairs[i] = _mm512_castsi512_ps(
        pair(rounded(_mm512_mul_ps(factor, l)), rounded(_mm512_mul_ps(factor, h))));
  }
  if constexpr (kTranspose) transpose16(pairs);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_store_ps(to + i * 32, pairs[i]);
}

template <bool kWhole>
void pack_half_rounded(bool left, const Operand& of, const float* x, std::int64_t outer,
                       std::int64_t inner, BFloat16* to) {
  const bool lines = of.inner_step == 1;
  const auto pack =
      lines ? (left ? pack_rounded<true, false, kWhole> : pack_rounded<true, true, kWhole>)
            : (left ? pack_rounded<false, true, kWhole> : pack_rounded<false, false, kWhole>);
  pack(x, lines ? of.outer_step : of.inner_step, of.scale, outer, inner, to);
}

// A panel of `outer` by `inner` elements from x on.
void pack_panel(bool left, const Operand& of, const float* x, std::int64_t outer,
                std::int64_t inner, BFloat16* to) {
  for (std::int64_t at = 0; at < inner; at += kPanel, x += kPanel * of.inner_step) {
    for (std::int64_t half = 0; half < outer; half += 16) {
      const bool whole = half + 16 <= outer && at + kPanel <= inner;
      const auto pack = whole ? pack_half_rounded<true> : pack_half_rounded<false>;
      pack(left, of, x + half * of.outer_step, outer - half, inner - at,
           to + (at / 16 + half / 16) * kTile);
    }
  }
}

// c (kPanel, kPanel) = left right, or c += left right.
void multiply_whole(const BFloat16* left, const BFloat16* right, std::int64_t steps, bool add,
                    float* c, std::int64_t ldc) {
  const std::int64_t bytes = ldc * static_cast<std::int64_t>(sizeof(float));
  if (add) {
    _tile_loadd(0, c, bytes);
    _tile_loadd(1, c + 16, bytes);
    _tile_loadd(2, c + 16 * ldc, bytes);
    _tile_loadd(3, c + 16 * ldc + 16, bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::int64_t step = 0; step < steps; ++step, left += 2 * kTile, right += 2 * kTile) {
    _tile_loadd(4, left, 64);
    _tile_loadd(5, left + kTile, 64);
    load_right<true>(right);
    add_products<true, true>();
  }
  _tile_stored(0, c, bytes);
  _tile_stored(1, c + 16, bytes);
  _tile_stored(2, c + 16 * ldc, bytes);
  _tile_stored(3, c + 16 * ldc + 16, bytes);
}

// A block at the edge of c, where tiles would reach beyond it.
void multiply_edge(const BFloat16* left, const BFloat16* right, std::int64_t steps, bool add,
                   std::int64_t rows, std::int64_t columns, float* c, std::int64_t ldc) {
  alignas(64) float sums[kPanel * kPanel];
  multiply<1>({.x = left, .step = 2 * kTile}, right, steps, rows <= 16, columns <= 16, sums);
  for (std::int64_t row = 0; row < rows; ++row, c += ldc) {
    for (std::int64_t column = 0; column < columns; column += 16) {
      const __mmask16 mask = first(columns - column);
      __m512 sum = _mm512_load_ps(sums + row * kPanel + column);
      if (add) sum = _mm512_add_ps(load(mask, c + column), sum);
      store(mask, sum, c + column);
    }
  }
}

// Panels of a are packed in groups that stay in the cache while the panels of b pass by, and the
// inner axis comes in waves, so that scratch memory is small whatever the shape.
void product(const Product<float>& p) {
  constexpr std::int64_t kRowPanels = 4, kSteps = 8;
  alignas(64) BFloat16 left[kRowPanels * kSteps * kPanel * kPanel];
  alignas(64) BFloat16 right[kSteps * kPanel * kPanel];
  const Operand a{p.a, p.a_row, p.a_column, p.alpha};
  const Operand b{p.b, p.b_column, p.b_row, 1};
  begin();
  for (std::int64_t row = 0; row < p.m; row += kRowPanels * kPanel) {
    const std::int64_t end = least(p.m, row + kRowPanels * kPanel);
    // (Once at least: without an inner axis c becomes 0.)
    for (std::int64_t at = 0; at == 0 || at < p.k; at += kSteps * kPanel) {
      const std::int64_t depth = least(kSteps * kPanel, p.k - at);
      const std::int64_t steps = (depth + kPanel - 1) / kPanel;
      const std::int64_t size = amx_panel_size(steps, 1);
      BFloat16* packed = left;
      for (std::int64_t i = row; i < end; i += kPanel, packed += size)
        pack_panel(true, a, a.at(i, at), least(kPanel, p.m - i), depth, packed);
      for (std::int64_t j = 0; j < p.n; j += kPanel) {
        const std::int64_t columns = least(kPanel, p.n - j);
        pack_panel(false, b, b.at(j, at), columns, depth, right);
        packed = left;
        for (std::int64_t i = row; i < end; i += kPanel, packed += size) {
          const std::int64_t rows = least(kPanel, p.m - i);
          const bool add = p.accumulate || at > 0;
          float* c = p.c + i * p.ldc + j;
          if (rows == kPanel && columns == kPanel) {
            multiply_whole(packed, right, steps, add, c, p.ldc);
          } else {
            multiply_edge(packed, right, steps, add, rows, columns, c, p.ldc);
          }
        }
      }
    }
  }
  _tile_release();
}

}  // namespace

AmxTable amx_table() {
  return {.f32 = {.parts = 3, .pack = pack<FloatTile>, .multiply = multiply<3>},
          .bf16 = {.parts = 1, .pack = pack<BFloat16Tile>, .multiply = multiply<1>},
          .product = product,
          .finish_f32 = finish<float>,
          .finish_bf16 = finish<BFloat16>,
          .begin = begin,
          .end = end};
}

}  // namespace fovea::cpu::simd
