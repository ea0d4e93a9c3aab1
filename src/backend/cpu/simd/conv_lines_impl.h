// Convolutions of planes that are read where they lie; part of kernels_impl.h. Register tiles as
// those of product_impl.h, with a distance for every term in place of rows of a matrix of patches.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/product_impl.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

// kRows rows of results, kWide vectors of each, which may be anywhere. (Unrolled as tile() is.)
template <class T, int kRows, int kWide>
inline void conv_tile(const ConvLines<T>& p, const T* weight, const T* const (&x)[kWide],
                      T* const (&y)[kWide], std::int64_t ldy, bool accumulate) {
  using B = Batch<T>;
  B sums[kRows][kWide];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) sums[r][w] = B(T{0});
  }
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < p.terms; ++i) {
    const T* left = weight + i * kTileRows<T>;
    B right[kWide];
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) right[w] = B::load_unaligned(x[w] + p.distances[i]);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const B value(left[r]);
#pragma GCC unroll 2
      for (int w = 0; w < kWide; ++w) sums[r][w] = xsimd::fma(value, right[w], sums[r][w]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) {
      T* to = y[w] + r * ldy;
      (accumulate ? sums[r][w] + B::load_unaligned(to) : sums[r][w]).store_unaligned(to);
    }
  }
}

template <class T, int kRows, int kWide>
inline void conv_tile_of(std::int64_t rows, const ConvLines<T>& p, const T* weight,
                         const T* const (&x)[kWide], T* const (&y)[kWide], std::int64_t ldy,
                         bool accumulate) {
  if (rows == kRows) return conv_tile<T, kRows, kWide>(p, weight, x, y, ldy, accumulate);
  if constexpr (kRows > 1)
    conv_tile_of<T, kRows - 1, kWide>(rows, p, weight, x, y, ldy, accumulate);
}

// Rows of a weight in groups of almost the same size: a tile of few rows waits for its own sums.
template <class T>
struct RowGroups {
  std::int64_t count, least, larger;  // rows of a group, groups that have one more

  explicit RowGroups(std::int64_t rows)
      : count((rows + kTileRows<T> - 1) / kTileRows<T>),
        least(rows / count),
        larger(rows % count) {}
  std::int64_t first(std::int64_t i) const { return i * least + (i < larger ? i : larger); }
  std::int64_t rows(std::int64_t i) const { return least + (i < larger ? 1 : 0); }
};

template <class T>
void pack_conv_rows(const T* x, std::int64_t row, std::int64_t rows, std::int64_t k, T* to) {
  const RowGroups<T> groups(rows);
  for (std::int64_t i = 0; i < groups.count; ++i)
    pack_rows<T>(x + groups.first(i) * row, row, 1, groups.rows(i), k, to + i * kTileRows<T> * k);
}

template <class T, int kWide>
inline void conv_vectors(const ConvLines<T>& p, const RowGroups<T>& groups, const T* weight,
                         const T* const (&x)[kWide], T* const (&y)[kWide], std::int64_t ldy,
                         bool accumulate) {
  for (std::int64_t i = 0; i < groups.count; ++i) {
    T* to[kWide];
    for (int w = 0; w < kWide; ++w) to[w] = y[w] + groups.first(i) * ldy;
    conv_tile_of<T, kTileRows<T>, kWide>(groups.rows(i), p, weight + i * kTileRows<T> * p.terms, x,
                                         to, ldy, accumulate);
  }
}

// Two vectors at a time, the second perhaps of the next line.
template <class T>
void conv_lines(const ConvLines<T>& p, const T* weight, std::int64_t rows, T* y, std::int64_t ldy,
                bool accumulate) {
  const RowGroups<T> groups(rows);
  const std::int64_t across = (p.width + kLanes<T> - 1) / kLanes<T>;
  const ConvLine* line = p.lines;
  std::int64_t at = 0;
  const auto next = [&](const T*& from, T*& to) {
    from = p.x + line->x + at * kLanes<T>;
    to = y + line->y + at * kLanes<T>;
    if (++at == across) {
      at = 0;
      ++line;
    }
  };
  const std::int64_t vectors = p.count * across;
  for (std::int64_t v = 0; v + 2 <= vectors; v += 2) {
    const T* from[2];
    T* to[2];
    next(from[0], to[0]);
    next(from[1], to[1]);
    conv_vectors<T, 2>(p, groups, weight, from, to, ldy, accumulate);
  }
  if (vectors % 2 == 1) {
    const T* from[1];
    T* to[1];
    next(from[0], to[0]);
    conv_vectors<T, 1>(p, groups, weight, from, to, ldy, accumulate);
  }
}

// kRows terms from `distances` on, kWide vectors of channels of dy.
template <class T, int kRows, int kWide>
inline void conv_sums_tile(const ConvLines<T>& p, const std::int64_t* distances, const T* dy,
                           T* sums) {
  using B = Batch<T>;
  B parts[kRows][kWide];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) parts[r][w] = B(T{0});
  }
  for (std::int64_t line = 0; line < p.count; ++line) {
    const T* x = p.x + p.lines[line].x;
    const T* left[kRows];
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) left[r] = x + distances[r];
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < p.width; ++i) {
      B right[kWide];
#pragma GCC unroll 2
      for (int w = 0; w < kWide; ++w)
        right[w] = B::load_unaligned(dy + i * kPanelColumns<T> + w * kLanes<T>);
#pragma GCC unroll 12
      for (int r = 0; r < kRows; ++r) {
        const B value(left[r][i]);
#pragma GCC unroll 2
        for (int w = 0; w < kWide; ++w) parts[r][w] = xsimd::fma(value, right[w], parts[r][w]);
      }
    }
    dy += p.width * kPanelColumns<T>;
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int w = 0; w < kWide; ++w) {
      T* to = sums + r * kPanelColumns<T> + w * kLanes<T>;
      (parts[r][w] + B::load_unaligned(to)).store_unaligned(to);
    }
  }
}

template <class T, int kRows, int kWide>
inline void conv_sums_tile_of(std::int64_t rows, const ConvLines<T>& p,
                              const std::int64_t* distances, const T* dy, T* sums) {
  if (rows == kRows) return conv_sums_tile<T, kRows, kWide>(p, distances, dy, sums);
  if constexpr (kRows > 1) conv_sums_tile_of<T, kRows - 1, kWide>(rows, p, distances, dy, sums);
}

template <class T>
void conv_line_sums(const ConvLines<T>& p, const T* dy, std::int64_t channels, T* sums,
                    std::int64_t panel) {
  constexpr int kRows = kTileRows<T>;
  constexpr std::int64_t kPair = kPanelColumns<T>;
  for (std::int64_t c = 0; c < channels; c += kPair) {
    for (std::int64_t i = 0; i < p.terms; i += kRows) {
      const std::int64_t rows = p.terms - i < kRows ? p.terms - i : kRows;
      if (channels - c > kLanes<T>) {
        conv_sums_tile_of<T, kRows, 2>(rows, p, p.distances + i, dy, sums + i * kPair);
      } else {
        conv_sums_tile_of<T, kRows, 1>(rows, p, p.distances + i, dy, sums + i * kPair);
      }
    }
    dy += p.count * p.width * kPair;
    sums += panel;
  }
}

// Output channels and terms whose sums are in registers: 24 of 32, or 12 of 16.
constexpr int kSumChannels = 4;
template <class T>
constexpr int kSumTerms = kTileRows<T> / 2;

// Positions are lanes, whose sums are joined in the end.
template <class T, int kChannels, int kTerms>
inline void plane_sums_tile(const ConvLines<T>& p, const std::int64_t* distances, const T* dy,
                            std::int64_t plane, T* sums, std::int64_t ld) {
  using B = Batch<T>;
  B parts[kChannels][kTerms];
#pragma GCC unroll 4
  for (int c = 0; c < kChannels; ++c) {
#pragma GCC unroll 6
    for (int t = 0; t < kTerms; ++t) parts[c][t] = B(T{0});
  }
  for (std::int64_t line = 0; line < p.count; ++line) {
    const T* x = p.x + p.lines[line].x;
    const T* from = dy + p.lines[line].y;
    const T* right[kTerms];
#pragma GCC unroll 6
    for (int t = 0; t < kTerms; ++t) right[t] = x + distances[t];
#pragma GCC unroll 2
    for (std::int64_t i = 0; i < p.width; i += kLanes<T>) {
      B terms[kTerms];
#pragma GCC unroll 6
      for (int t = 0; t < kTerms; ++t) terms[t] = B::load_unaligned(right[t] + i);
#pragma GCC unroll 4
      for (int c = 0; c < kChannels; ++c) {
        const B gradient = B::load_unaligned(from + c * plane + i);
#pragma GCC unroll 6
        for (int t = 0; t < kTerms; ++t) parts[c][t] = xsimd::fma(gradient, terms[t], parts[c][t]);
      }
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < kChannels; ++c) {
#pragma GCC unroll 6
    for (int t = 0; t < kTerms; ++t) sums[c * ld + t] += horizontal_sum<T>(parts[c][t]);
  }
}

template <class T, int kChannels, int kTerms>
inline void plane_sums_tile_of(std::int64_t channels, std::int64_t terms, const ConvLines<T>& p,
                               const std::int64_t* distances, const T* dy, std::int64_t plane,
                               T* sums, std::int64_t ld) {
  if (channels < kChannels) {
    if constexpr (kChannels > 1)
      plane_sums_tile_of<T, kChannels - 1, kTerms>(channels, terms, p, distances, dy, plane, sums,
                                                   ld);
  } else if (terms < kTerms) {
    if constexpr (kTerms > 1)
      plane_sums_tile_of<T, kChannels, kTerms - 1>(channels, terms, p, distances, dy, plane, sums,
                                                   ld);
  } else {
    plane_sums_tile<T, kChannels, kTerms>(p, distances, dy, plane, sums, ld);
  }
}

template <class T>
void conv_plane_sums(const ConvLines<T>& p, const T* dy, std::int64_t plane, std::int64_t channels,
                     T* sums, std::int64_t ld) {
  constexpr std::int64_t kTerms = kSumTerms<T>;
  for (std::int64_t c = 0; c < channels; c += kSumChannels) {
    for (std::int64_t i = 0; i < p.terms; i += kTerms) {
      const std::int64_t here = channels - c < kSumChannels ? channels - c : kSumChannels;
      const std::int64_t terms = p.terms - i < kTerms ? p.terms - i : kTerms;
      plane_sums_tile_of<T, kSumChannels, kTerms>(here, terms, p, p.distances + i, dy + c * plane,
                                                  plane, sums + c * ld + i, ld);
    }
  }
}

}  // namespace
}  // namespace fovea::cpu::simd
