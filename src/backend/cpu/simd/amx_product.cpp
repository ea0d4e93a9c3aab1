// amx.h's product().
#include <cstddef>

#include "backend/cpu/simd/amx_tiles_impl.h"
#include "backend/cpu/simd/transpose_avx512.h"

namespace fovea::cpu::simd {
namespace {

// An operand: its elements are `outer_step` apart along the axis of the result and
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

}  // namespace

// Panels of a are packed in groups that stay in the cache while the panels of b are read, and the
// inner axis is cut into waves, so that scratch memory is small for any shape.
void amx_product(const Product<float>& p) {
  constexpr std::int64_t kRowPanels = 4, kSteps = 8;
  // (Arrays of BFloat16 itself, whose default is 0, would be filled with zeros in every call.)
  alignas(64) std::byte memory[(kRowPanels + 1) * kSteps * kPanel * kPanel * sizeof(BFloat16)];
  BFloat16* const left = reinterpret_cast<BFloat16*>(memory);
  BFloat16* const right = left + kRowPanels * kSteps * kPanel * kPanel;
  const Operand a{p.a, p.a_row, p.a_column, p.alpha};
  const Operand b{p.b, p.b_column, p.b_row, 1};
  begin();
  for (std::int64_t row = 0; row < p.m; row += kRowPanels * kPanel) {
    const std::int64_t end = least(p.m, row + kRowPanels * kPanel);
    // (At least once: without an inner axis c becomes 0.)
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
  end();
}

}  // namespace fovea::cpu::simd
