// The kernels of amx.h other than product().
#include "backend/cpu/simd/amx_tiles_impl.h"
#include "backend/cpu/simd/transpose_avx512.h"

namespace fovea::cpu::simd {
namespace {

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
  // Infinities, NaN and what rounds to infinity leave NaN as the last part.
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
      // The processor does not prefetch rows that are far apart.
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

// 32 sums of a row that is written past the caches.
inline void stream_row(__m512 low, __m512 high, float* to) {
  _mm512_stream_ps(to, low);
  _mm512_stream_ps(to + 16, high);
}
inline void stream_row(__m512 low, __m512 high, BFloat16* to) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

template <class C>
void finish(const float* sums, const AmxResult<C>& result) {
  const auto bias_of = [&](std::int64_t column) {
    return result.bias == nullptr ? _mm512_setzero_ps()
                                  : load(first(result.columns - column), result.bias + column);
  };
  if (result.past_caches) {
    const __m512 low = bias_of(0);
    const __m512 high = bias_of(16);
    for (std::int64_t row = 0; row < result.rows; ++row, sums += kPanel)
      stream_row(_mm512_add_ps(_mm512_load_ps(sums), low),
                 _mm512_add_ps(_mm512_load_ps(sums + 16), high), result.c + row * result.ldc);
    return;
  }
  for (std::int64_t column = 0; column < result.columns; column += 16) {
    const __mmask16 mask = first(result.columns - column);
    const __m512 bias = bias_of(column);
    for (std::int64_t row = 0; row < result.rows; ++row) {
      C* c = result.c + row * result.ldc + column;
      __m512 sum = _mm512_add_ps(_mm512_load_ps(sums + row * kPanel + column), bias);
      if (result.accumulate) sum = _mm512_add_ps(load(mask, c), sum);
      store(mask, sum, c);
    }
  }
}

std::int64_t multiply_adds(std::int64_t turns) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (std::int64_t turn = 0; turn < turns; ++turn) add_products<true, true>();
  return turns * 4 * 16 * kTile;
}

}  // namespace

AmxTable amx_table() {
  return {.f32 = {.parts = 3, .pack = pack<FloatTile>, .multiply = multiply<3>},
          .bf16 = {.parts = 1, .pack = pack<BFloat16Tile>, .multiply = multiply<1>},
          .product = amx_product,
          .finish_f32 = finish<float>,
          .finish_bf16 = finish<BFloat16>,
          .multiply_adds = multiply_adds,
          .begin = begin,
          .end = end};
}

}  // namespace fovea::cpu::simd
