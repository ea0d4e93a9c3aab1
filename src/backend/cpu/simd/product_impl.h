// Products of small matrices; part of kernels_impl.h.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/layout_impl.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

// Rows of c held in registers, two vectors wide: 24 of 32 registers, or 12 of 16.
template <class T>
constexpr int kTileRows = sizeof(Batch<T>) == 64 ? 12 : 6;

// c = alpha sums, or += that, in whole vectors. Unrolled, and never indexed by a variable: else the
// sums would go through memory.
template <bool kAccumulate, class T, int kRows, int kWide>
inline void put_tile(T scale, const Batch<T> (&sums)[kRows][kWide], T* c, std::int64_t ldc) {
  const Batch<T> alpha(scale);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r, c += ldc) {
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) {
      T* to = c + w * kLanes<T>;
      const Batch<T> value = alpha * sums[r][w];
      (kAccumulate ? value + Batch<T>::load_unaligned(to) : value).store_unaligned(to);
    }
  }
}

// The whole depth of one tile of c: kRows rows, kWide vectors.
template <class T, int kRows, int kWide>
inline void tile(const Product<T>& p, const T* a, const T* b, std::int64_t ldb, T* c,
                 std::int64_t columns) {
  using B = Batch<T>;
  B sums[kRows][kWide];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) sums[r][w] = B(T{0});
  }
  for (std::int64_t i = 0; i < p.k; ++i) {
    B right[kWide];
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) right[w] = B::load_unaligned(b + i * ldb + w * kLanes<T>);
    const T* left = a + i * p.a_column;
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const B value(left[r * p.a_row]);
#pragma GCC unroll 2
      for (int w = 0; w < kWide; ++w) sums[r][w] = xsimd::fma(value, right[w], sums[r][w]);
    }
  }
  constexpr std::int64_t kWidth = kWide * kLanes<T>;
  if (columns == kWidth) {
    return p.accumulate ? put_tile<true>(p.alpha, sums, c, p.ldc)
                        : put_tile<false>(p.alpha, sums, c, p.ldc);
  }
  alignas(64) T part[kRows * kWidth];
  put_tile<false>(p.alpha, sums, part, kWidth);
  for (int r = 0; r < kRows; ++r) {
    T* to = c + r * p.ldc;
    for (std::int64_t x = 0; x < columns; ++x)
      to[x] = p.accumulate ? to[x] + part[r * kWidth + x] : part[r * kWidth + x];
  }
}

template <class T, int kRows, int kWide>
inline void tile_of(std::int64_t rows, const Product<T>& p, const T* a, const T* b,
                    std::int64_t ldb, T* c, std::int64_t columns) {
  if (rows == kRows) return tile<T, kRows, kWide>(p, a, b, ldb, c, columns);
  if constexpr (kRows > 1) tile_of<T, kRows - 1, kWide>(rows, p, a, b, ldb, c, columns);
}

// All rows of `columns` <= kWide vectors of c, from column j and the term `first` on.
template <class T, int kWide>
inline void panel(const Product<T>& p, const T* b, std::int64_t ldb, std::int64_t j,
                  std::int64_t first, std::int64_t columns) {
  constexpr int kRows = kTileRows<T>;
  for (std::int64_t i = 0; i < p.m; i += kRows) {
    const std::int64_t rows = p.m - i < kRows ? p.m - i : kRows;
    if (p.omitted == Omitted::kResultsAbove && i + rows <= j) continue;
    Product<T> terms = p;
    std::int64_t begin = 0;
    if (p.omitted == Omitted::kTermsAbove && i + rows - first < p.k)
      terms.k = i + rows > first ? i + rows - first : 0;
    if (p.omitted == Omitted::kTermsBelow && i > first) begin = i - first < p.k ? i - first : p.k;
    terms.k -= begin;
    tile_of<T, kRows, kWide>(rows, terms, p.a + i * p.a_row + begin * p.a_column, b + begin * ldb,
                             ldb, p.c + i * p.ldc + j, columns);
  }
}

// `columns` columns of b, padded with zeros to `width`, next to each other.
template <class T>
inline void pack(const Product<T>& p, const T* b, std::int64_t columns, std::int64_t width, T* to) {
  if (p.b_row == 1)  // its columns are rows in memory
    return transpose_rows<T>([&](std::int64_t i) { return b + i * p.b_column; }, to, width, columns,
                             p.k);
  for (std::int64_t i = 0; i < p.k; ++i) {
    const T* row = b + i * p.b_row;
    if (columns == width && p.b_column == 1) {
      // (A loop over one or two vectors would become a call for copying memory.)
      Batch<T>::load_unaligned(row).store_aligned(to + i * width);
      if (width > kLanes<T>)
        Batch<T>::load_unaligned(row + kLanes<T>).store_aligned(to + i * width + kLanes<T>);
    } else {
      for (std::int64_t x = 0; x < width; ++x)
        to[i * width + x] = x < columns ? row[x * p.b_column] : T{0};
    }
  }
}

// Two vectors of columns at a time, through all rows, a stretch of the depth at a time. A panel of
// b that many rows read is packed first: rows a power of two apart would compete for few cache
// lines.
template <class T>
void product(const Product<T>& p) {
  constexpr std::int64_t kDepth = 256;
  constexpr std::int64_t kPair = 2 * kLanes<T>;
  alignas(64) T packed[kDepth * kPair];
  const bool reused = p.m >= 4 * kTileRows<T> && p.b_row > kPair;
  if (p.k == 0 && !p.accumulate) {  // an empty sum
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) p.c[i * p.ldc + j] = T{0};
    }
  }
  Product<T> part = p;
  for (std::int64_t first = 0; first < p.k; first += kDepth) {
    part.k = p.k - first < kDepth ? p.k - first : kDepth;
    part.a = p.a + first * p.a_column;
    part.accumulate = p.accumulate || first > 0;
    for (std::int64_t j = 0; j < p.n; j += kPair) {
      const std::int64_t columns = p.n - j < kPair ? p.n - j : kPair;
      const std::int64_t width = columns <= kLanes<T> ? kLanes<T> : kPair;
      const T* b = p.b + first * p.b_row + j * p.b_column;
      std::int64_t ldb = p.b_row;
      if (columns < width || reused || p.b_column != 1) {
        pack(part, b, columns, width, packed);
        b = packed;
        ldb = width;
      }
      if (width == kPair) {
        panel<T, 2>(part, b, ldb, j, first, columns);
      } else {
        panel<T, 1>(part, b, ldb, j, first, columns);
      }
    }
  }
}

}  // namespace
}  // namespace fovea::cpu::simd
