// Products of small matrices; part of kernels_impl.h.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/fetching_impl.h"
#include "backend/cpu/simd/layout_impl.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

// Rows of c held in registers, two vectors wide: 24 of 32 registers, or 12 of 16.
template <class T>
constexpr int kTileRows = sizeof(Batch<T>) == 64 ? 12 : 6;
template <class T>
constexpr std::int64_t kPanelColumns = 2 * kLanes<T>;

// c = sums, times alpha and plus rows of `to_add` if asked for, in whole vectors. Unrolled, and
// never indexed by a variable: else the sums would go through memory.
template <bool kScales, bool kAdds, class T, class S, int kRows, int kWide>
inline void put_tile(T scale, const Batch<T> (&sums)[kRows][kWide], const T* to_add,
                     std::int64_t ld, S* c, std::int64_t ldc) {
  const Batch<T> alpha(scale);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r, c += ldc, to_add += ld) {
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) {
      const Batch<T> value = kScales ? alpha * sums[r][w] : sums[r][w];
      store<S>(kAdds ? value + Batch<T>::load_unaligned(to_add + w * kLanes<T>) : value,
               c + w * kLanes<T>);
    }
  }
}

// What a tile of c begins with: rows ld apart, or nothing where x is null.
template <class T>
struct Addend {
  const T* x;
  std::int64_t ld;
};
template <class T, class S>
inline Addend<T> addend_of(const Product<T, S>& p, const S* c, std::int64_t i, std::int64_t j) {
  if constexpr (std::is_same_v<S, T>) {
    if (p.accumulate) return {c, p.ldc};
  }
  return {p.bias == nullptr ? nullptr : p.bias + i * p.bias_row + j, p.bias_row};
}

// The whole depth of one tile of c: kRows rows, kWide vectors. kPacked: rows of a are packed, which
// is up to a tenth faster where the compiler knows it.
template <bool kPacked, class T, int kRows, int kWide, class S>
inline void tile(const Product<T, S>& p, const T* a, const T* b, std::int64_t ldb, S* c,
                 std::int64_t columns, const Addend<T>& addend) {
  using B = Batch<T>;
  const std::int64_t a_row = kPacked ? 1 : p.a_row;
  const std::int64_t a_column = kPacked ? kRows : p.a_column;
  B sums[kRows][kWide];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) sums[r][w] = B(T{0});
  }
  // A core that is shared with another thread takes in half of its instructions a cycle: those that
  // count rounds would be a tenth of all.
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < p.k; ++i) {
    B right[kWide];
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) right[w] = B::load_unaligned(b + i * ldb + w * kLanes<T>);
    const T* left = a + i * a_column;
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const B value(left[r * a_row]);
#pragma GCC unroll 2
      for (int w = 0; w < kWide; ++w) sums[r][w] = xsimd::fma(value, right[w], sums[r][w]);
    }
  }
  constexpr std::int64_t kWidth = kWide * kLanes<T>;
  if (columns == kWidth) {
    // (Multiplying by 1 would take a thirtieth of a tile of 64 terms.)
    if (p.alpha == T{1}) {
      return addend.x != nullptr
                 ? put_tile<false, true>(p.alpha, sums, addend.x, addend.ld, c, p.ldc)
                 : put_tile<false, false>(p.alpha, sums, addend.x, 0, c, p.ldc);
    }
    return addend.x != nullptr ? put_tile<true, true>(p.alpha, sums, addend.x, addend.ld, c, p.ldc)
                               : put_tile<true, false>(p.alpha, sums, addend.x, 0, c, p.ldc);
  }
  alignas(64) T part[kRows * kWidth];
  put_tile<true, false>(p.alpha, sums, part, kWidth, part, kWidth);
  for (int r = 0; r < kRows; ++r) {
    S* to = c + r * p.ldc;
    for (std::int64_t x = 0; x < columns; ++x) {
      const T sum = part[r * kWidth + x];
      const T total = addend.x != nullptr ? sum + addend.x[r * addend.ld + x] : sum;
      if constexpr (std::is_same_v<S, T>) {
        to[x] = total;
      } else {
        to[x] = narrow(total);
      }
    }
  }
}

template <class T, int kRows, int kWide, class S>
inline void tile_of(std::int64_t rows, const Product<T, S>& p, const T* a, const T* b,
                    std::int64_t ldb, S* c, std::int64_t columns, const Addend<T>& addend) {
  if (rows == kRows) return tile<false, T, kRows, kWide>(p, a, b, ldb, c, columns, addend);
  if constexpr (kRows > 1) tile_of<T, kRows - 1, kWide>(rows, p, a, b, ldb, c, columns, addend);
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
    T* c = p.c + i * p.ldc + j;
    tile_of<T, kRows, kWide>(rows, terms, p.a + i * p.a_row + begin * p.a_column, b + begin * ldb,
                             ldb, c, columns, addend_of(p, c, i, j));
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
  constexpr std::int64_t kPair = kPanelColumns<T>;
  alignas(64) T packed[kPanelDepth * kPair];
  const bool reused = p.m >= 4 * kTileRows<T> && p.b_row > kPair;
  if (p.k == 0 && !p.accumulate) {  // an empty sum
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j)
        p.c[i * p.ldc + j] = p.bias != nullptr ? p.bias[i * p.bias_row + j] : 0;
    }
  }
  Product<T> part = p;
  for (std::int64_t first = 0; first < p.k; first += kPanelDepth) {
    part.k = p.k - first < kPanelDepth ? p.k - first : kPanelDepth;
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

// Rows that lie along memory, a few terms at a time through all of them: a line of memory is read
// once, even where terms are a power of two apart and would compete for few lines of the cache.
// Whole vectors as far as there are elements to read: what is too much of one is overwritten by the
// next term, which is why the last terms are written without.
template <class S>
inline void pack_adjacent_rows(const S* x, std::int64_t column, std::int64_t rows, std::int64_t k,
                               Compute<S>* to) {
  constexpr std::int64_t kRows = kTileRows<Compute<S>>;
  constexpr std::int64_t kTerms = 4;
  const bool fits = kLanes<S> >= kRows && rows >= kLanes<S>;
  const std::int64_t whole = fits ? (rows - kLanes<S>) / kRows * kRows + kRows : 0;
  for (std::int64_t i = 0; i < k; i += kTerms) {
    const S* from = x + i * column;
    Compute<S>* at = to + i * kRows;
    std::int64_t first = 0;
    if (i + kTerms < k) {
      for (; first < whole; first += kRows) {
        const S* source = from + first;
        Compute<S>* packed = at + first * k;
#pragma GCC unroll 4
        for (std::int64_t term = 0; term < kTerms; ++term)
          Batch<S>(load(source + term * column)).store_unaligned(packed + term * kRows);
      }
    }
    const std::int64_t terms = k - i < kTerms ? k - i : kTerms;
    for (; first < rows; first += kRows) {
      const std::int64_t here = rows - first < kRows ? rows - first : kRows;
      for (std::int64_t term = 0; term < terms; ++term) {
        const S* source = from + first + term * column;
        Compute<S>* packed = at + first * k + term * kRows;
        if (std::is_same_v<S, Compute<S>> && here == kRows) {
          __builtin_memcpy(packed, source, kRows * sizeof(S));  // two moves, no call
        } else {
          for (std::int64_t r = 0; r < here; ++r) packed[r] = value_of(source[r]);
        }
      }
    }
  }
}

template <class S>
void pack_rows(const S* x, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t k,
               Compute<S>* to) {
  constexpr std::int64_t kRows = kTileRows<Compute<S>>;
  if (row == 1) return pack_adjacent_rows(x, column, rows, k, to);
  for (std::int64_t first = 0; first < rows; first += kRows, to += kRows * k) {
    const S* from = x + first * row;
    const std::int64_t here = rows - first < kRows ? rows - first : kRows;
    if (kLanes<S> >= kRows && column == 1) {
      // Writes whole vectors too, with the last row once more behind it.
      transpose_rows<S>([=](std::int64_t i) { return from + (i < here ? i : here - 1) * row; }, to,
                        kRows, kLanes<S>, k);
    } else {
      for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t r = 0; r < here; ++r)
          to[i * kRows + r] = value_of(from[r * row + i * column]);
      }
    }
  }
}

// A vector of a term has elements of the next one, too, which are left out in the end.
template <class T>
void sum_packed_rows(const T* packed, std::int64_t rows, std::int64_t k, bool accumulate, T* sums) {
  constexpr std::int64_t kRows = kTileRows<T>;
  constexpr int kWide = (kRows + kLanes<T> - 1) / kLanes<T>, kChains = 4;
  for (std::int64_t first = 0; first < rows; first += kRows, packed += kRows * k) {
    Batch<T> chains[kChains][kWide];
    for (auto& chain : chains) {
      for (Batch<T>& sum : chain) sum = Batch<T>(T{0});
    }
    const auto add = [&](int chain, std::int64_t term) {
#pragma GCC unroll 3
      for (int w = 0; w < kWide; ++w)
        chains[chain][w] += Batch<T>::load_unaligned(packed + term * kRows + w * kLanes<T>);
    };
    std::int64_t term = 0;
    for (; term + kChains <= k; term += kChains) {
#pragma GCC unroll 4
      for (int chain = 0; chain < kChains; ++chain) add(chain, term + chain);
    }
    for (; term < k; ++term) add(0, term);
    alignas(64) T part[kWide * kLanes<T>];
    for (int w = 0; w < kWide; ++w) {
      ((chains[0][w] + chains[1][w]) + (chains[2][w] + chains[3][w]))
          .store_aligned(part + w * kLanes<T>);
    }
    const std::int64_t here = rows - first < kRows ? rows - first : kRows;
    for (std::int64_t r = 0; r < here; ++r)
      sums[first + r] = accumulate ? sums[first + r] + part[r] : part[r];
  }
}

// A row of a panel: `columns` elements and zeros.
template <class S>
inline void pack_panel_row(const S* from, std::int64_t column, std::int64_t columns,
                           Compute<S>* to) {
  constexpr std::int64_t kPair = kPanelColumns<Compute<S>>;
  if (columns == kPair && column == 1) {
    store(load(from), to);
    store(load(from + kLanes<S>), to + kLanes<S>);
  } else {
    for (std::int64_t j = 0; j < kPair; ++j)
      to[j] = j < columns ? value_of(from[j * column]) : Compute<S>{0};
  }
}

template <class S>
void pack_columns(const S* x, std::int64_t row, std::int64_t column, std::int64_t k,
                  std::int64_t columns, Compute<S>* to) {
  constexpr std::int64_t kPair = kPanelColumns<Compute<S>>;
  for (std::int64_t first = 0; first < columns; first += kPair, to += kPair * k) {
    const S* from = x + first * column;
    const std::int64_t here = columns - first < kPair ? columns - first : kPair;
    if (row == 1) {  // its columns are rows in memory
      transpose_rows<S>([=](std::int64_t i) { return from + i * column; }, to, kPair, here, k);
      continue;
    }
    for (std::int64_t i = 0; i < k; ++i, from += row)
      pack_panel_row(from, column, here, to + i * kPair);
  }
}

template <class S>
void pack_listed_rows(const S* const* x, std::int64_t offset, std::int64_t k, std::int64_t columns,
                      Compute<S>* to) {
  constexpr std::int64_t kPair = kPanelColumns<Compute<S>>;
  for (std::int64_t first = 0; first < columns; first += kPair, offset += kPair, to += kPair * k) {
    const std::int64_t here = columns - first < kPair ? columns - first : kPair;
    for (std::int64_t i = 0; i < k; ++i) {
      pack_panel_row(x[i] == nullptr ? x[i] : x[i] + offset, 1, x[i] == nullptr ? 0 : here,
                     to + i * kPair);
    }
  }
}

template <class S>
void pack_listed_columns(const S* const* x, std::int64_t offset, std::int64_t k,
                         std::int64_t columns, Compute<S>* to) {
  constexpr std::int64_t kPair = kPanelColumns<Compute<S>>;
  for (std::int64_t first = 0; first < columns; first += kPair, x += kPair, to += kPair * k) {
    const std::int64_t here = columns - first < kPair ? columns - first : kPair;
    transpose_rows<S>([=](std::int64_t i) { return x[i] == nullptr ? x[i] : x[i] + offset; }, to,
                      kPair, here, k);
  }
}

// Rows of the next tile where `left` are left. The last two tiles share theirs: one of a row or two
// takes as long as one of four, since each of its sums waits for itself.
template <class T>
inline std::int64_t rows_of_tile(std::int64_t left, bool packed_rows) {
  constexpr std::int64_t kRows = kTileRows<T>;
  if (left <= kRows) return left;
  return packed_rows || left >= 2 * kRows ? kRows : (left + 1) / 2;
}

template <class T, int kWide, class S>
inline void packed_panel(const Product<T, S>& p, bool packed_rows, std::int64_t j,
                         std::int64_t columns, Fetching& fetching) {
  constexpr int kRows = kTileRows<T>;
  constexpr std::int64_t kPair = kPanelColumns<T>;
  const T* b = p.b + j * p.b_row;
  for (std::int64_t i = 0, rows = 0; i < p.m; i += rows) {
    rows = rows_of_tile<T>(p.m - i, packed_rows);
    const T* a = p.a + i * (packed_rows ? p.k : p.a_row);
    S* c = p.c + i * p.ldc + j;
    fetching.go_on();
    if (packed_rows && rows == kRows) {
      tile<true, T, kRows, kWide>(p, a, b, kPair, c, columns, addend_of(p, c, i, j));
    } else {
      tile_of<T, kRows, kWide>(rows, p, a, b, kPair, c, columns, addend_of(p, c, i, j));
    }
  }
}

template <class S>
void packed_product(const Product<Compute<S>, S>& given) {
  using T = Compute<S>;
  Product<T, S> p = given;
  const bool packed_rows = p.a_row == 0;
  if (packed_rows) {
    p.a_row = 1;
    p.a_column = kTileRows<T>;
  }
  constexpr std::int64_t kPair = kPanelColumns<T>, kRows = kTileRows<T>;
  Fetching fetching(p.ahead, (p.m + kRows - 1) / kRows * ((p.n + kPair - 1) / kPair));
  for (std::int64_t j = 0; j < p.n; j += kPair) {
    const std::int64_t columns = p.n - j < kPair ? p.n - j : kPair;
    if (columns > kLanes<T>) {
      packed_panel<T, 2>(p, packed_rows, j, columns, fetching);
    } else {
      packed_panel<T, 1>(p, packed_rows, j, columns, fetching);
    }
  }
}

}  // namespace
}  // namespace fovea::cpu::simd
