// Small matrices copied in and out of larger tensors; part of kernels_impl.h.
#pragma once

#include <utility>

#include "backend/cpu/simd/batch_impl.h"
#if defined(__AVX512F__)
#include "backend/cpu/simd/transpose_avx512.h"
#endif

namespace fovea::cpu::simd {
namespace {

template <class S>
void take_rows(const S* x, std::int64_t ldx, Compute<S>* y, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    map(
        n, [](Batch<S> xi) { return xi; }, y + r * n, x + r * ldx);
  }
}

template <class S>
void put_rows(Compute<S> scale, const Compute<S>* x, bool add, S* y, std::int64_t ldy,
              std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    S* to = y + r * ldy;
    if (add) {
      map(
          n, [=](Batch<S> xi, Batch<S> yi) { return yi + scale * xi; }, to, x + r * n,
          static_cast<const S*>(to));
    } else {
      map(
          n, [=](Batch<S> xi) { return scale * xi; }, to, x + r * n);
    }
  }
}

// Every second element of a and b next to each other; and the other way, elements of a and b in
// turns, from the given lane of each on.
template <class V, int... kLane>
inline V evens(V a, V b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, (2 * kLane)...);
}
template <int kFirst, class V, int... kLane>
inline V in_turns(V a, V b, std::integer_sequence<int, kLane...>) {
  constexpr int kAll = sizeof...(kLane);
  return __builtin_shufflevector(a, b, (kFirst + kLane / 2 + kLane % 2 * kAll)...);
}
template <class T>
using LaneNumbers = std::make_integer_sequence<int, static_cast<int>(kLanes<T>)>;

template <class T>
inline void take_evens(const T* x, T* y, std::int64_t n) {
  using V = typename Batch<T>::register_type;
  const auto part = [](const T* from, std::int64_t left) -> V {
    if (left >= kLanes<T>) return load(from);
    return left > 0 ? load_part(from, left) : Batch<T>(T{0});
  };
  std::int64_t i = 0;
  // Nothing is read behind the last element.
  for (; i + kLanes<T> < n; i += kLanes<T>) {
    const V low = load(x + 2 * i), high = load(x + 2 * i + kLanes<T>);
    store(Batch<T>(evens(low, high, LaneNumbers<T>())), y + i);
  }
  const std::int64_t left = 2 * (n - i) - 1;
  const Batch<T> last(evens(part(x + 2 * i, left), part(x + 2 * i + kLanes<T>, left - kLanes<T>),
                            LaneNumbers<T>()));
  n - i == kLanes<T> ? store(last, y + i) : store_part(last, y + i, n - i);
}

template <class T>
void take_apart(const T* x, std::int64_t ldx, std::int64_t step, T* y, std::int64_t ldy,
                std::int64_t rows, std::int64_t n) {
  if (n <= 0) return;
  for (std::int64_t r = 0; r < rows; ++r, x += ldx, y += ldy) {
    if (step == 1) {
      map(
          n, [](Batch<T> xi) { return xi; }, y, x);
    } else if (step == 2) {
      take_evens(x, y, n);
    } else {
      for (std::int64_t i = 0; i < n; ++i) y[i] = x[i * step];
    }
  }
}

template <class T>
void put_together(const T* x, std::int64_t apart, std::int64_t ldx, std::int64_t step, T* y,
                  std::int64_t ldy, std::int64_t rows, std::int64_t n) {
  if (step == 1) return take_apart(x, ldx, 1, y, ldy, rows, n);
  using V = typename Batch<T>::register_type;
  for (std::int64_t r = 0; r < rows; ++r, x += ldx, y += ldy) {
    std::int64_t i = 0;
    for (; step == 2 && i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {
      const V a = load(x + i / 2), b = load(x + apart + i / 2);
      store(Batch<T>(in_turns<0>(a, b, LaneNumbers<T>())), y + i);
      store(Batch<T>(in_turns<kLanes<T> / 2>(a, b, LaneNumbers<T>())), y + i + kLanes<T>);
    }
    for (std::int64_t at = i / step; i < n; ++at) {
      for (std::int64_t j = 0; j < step && i < n; ++j, ++i) y[i] = x[j * apart + at];
    }
  }
}

template <class S>
void stream_rows(const Compute<S>* x, S* y, std::int64_t ldy, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < n; i += kLanes<S>)
      store_past(load(x + r * n + i), y + r * ldy + i);
  }
}

// A square of as many rows as a vector has lanes, columns [0, columns) of it, to y with rows ldy
// apart.
template <class T>
inline void transpose_square(const xsimd::batch<T>* rows, T* y, std::int64_t ldy,
                             std::int64_t columns) {
  alignas(64) T square[kLanes<T>][kLanes<T>];
  for (std::int64_t r = 0; r < kLanes<T>; ++r) rows[r].store_aligned(square[r]);
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < kLanes<T>; ++r) y[c * ldy + r] = square[r][c];
  }
}

#if defined(__AVX512F__)
template <>
inline void transpose_square(const xsimd::batch<float>* rows, float* y, std::int64_t ldy,
                             std::int64_t columns) {
  __m512 square[16];
  for (int i = 0; i < 16; ++i) square[i] = rows[i];
  transpose16(square);
  for (std::int64_t c = 0; c < columns; ++c) _mm512_storeu_ps(y + c * ldy, square[c]);
}
#elif defined(__AVX2__)
template <>
inline void transpose_square(const xsimd::batch<float>* rows, float* y, std::int64_t ldy,
                             std::int64_t columns) {
  // Pairs of rows, then pairs of pairs: columns i and i + 4 of four rows; then of all eight.
  __m256 pairs[8], fours[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int high = 0; high < 2; ++high) {
      fours[i + 2 * high] = _mm256_shuffle_ps(pairs[i + high], pairs[i + high + 2], 0x44);
      fours[i + 2 * high + 1] = _mm256_shuffle_ps(pairs[i + high], pairs[i + high + 2], 0xEE);
    }
  }
  __m256 square[8];
  for (int i = 0; i < 4; ++i) {
    square[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
    square[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
  for (std::int64_t c = 0; c < columns; ++c) _mm256_storeu_ps(y + c * ldy, square[c]);
}
#endif

// The square of columns [0, kLanes) of the rows `from`, transposed, to y.
template <class S>
inline void transpose_whole(const S* const* from, std::int64_t offset, Compute<S>* y,
                            std::int64_t ldy) {
  Batch<S> square[kLanes<S>];
  for (std::int64_t i = 0; i < kLanes<S>; ++i) square[i] = load(from[i] + offset);
  transpose_square(square, y, ldy, kLanes<S>);
}
#if defined(__AVX2__) && !defined(__AVX512F__)
template <>
inline void transpose_whole(const float* const* from, std::int64_t offset, float* y,
                            std::int64_t ldy) {
  // Halves of row i and row i + 4 in one vector: what crosses the halves is done by loading.
  for (std::int64_t half = 0; half < 8; half += 4) {
    __m256 rows[4], pairs[4];
    for (int i = 0; i < 4; ++i) {
      const __m128 low = _mm_loadu_ps(from[i] + offset + half);
      const __m128 high = _mm_loadu_ps(from[i + 4] + offset + half);
      rows[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
    }
    for (int i = 0; i < 4; i += 2) {
      pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
      pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      float* to = y + (half + 2 * i) * ldy;
      _mm256_storeu_ps(to, _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44));
      _mm256_storeu_ps(to + ldy, _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE));
    }
  }
}
#endif

// row(i): the address of row i, or null for zeros.
template <class S, class Row>
inline void transpose_rows(const Row& row, Compute<S>* y, std::int64_t ldy, std::int64_t rows,
                           std::int64_t n) {
  using B = Batch<S>;
  for (std::int64_t r = 0; r < ldy; r += kLanes<S>) {
    const S* from[kLanes<S>];
    bool whole = true;
    for (std::int64_t i = 0; i < kLanes<S>; ++i) {
      from[i] = r + i < rows ? row(r + i) : nullptr;
      whole = whole && from[i] != nullptr;
    }
    std::int64_t c = 0;
    for (; whole && c + kLanes<S> <= n; c += kLanes<S>)
      transpose_whole<S>(from, c, y + c * ldy + r, ldy);
    for (; c < n; c += kLanes<S>) {
      const std::int64_t columns = n - c < kLanes<S> ? n - c : kLanes<S>;
      B square[kLanes<S>];
      for (std::int64_t i = 0; i < kLanes<S>; ++i) {
        square[i] = from[i] == nullptr    ? B(Compute<S>{0})
                    : columns < kLanes<S> ? load_part(from[i] + c, columns)
                                          : load(from[i] + c);
      }
      transpose_square(square, y + c * ldy + r, ldy, columns);
    }
  }
}

template <class S>
void take_columns(const S* x, std::int64_t ldx, Compute<S>* y, std::int64_t ldy, std::int64_t rows,
                  std::int64_t n) {
  transpose_rows<S>([=](std::int64_t i) { return x + i * ldx; }, y, ldy, rows, n);
}

template <class S>
void take_listed_rows(const S* const* x, std::int64_t offset, Compute<S>* y, std::int64_t rows,
                      std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    if (x[r] == nullptr) {
      for (std::int64_t i = 0; i < n; ++i) y[r * n + i] = Compute<S>{0};
    } else {
      map(
          n, [](Batch<S> xi) { return xi; }, y + r * n, x[r] + offset);
    }
  }
}

template <class S>
void put_listed_rows(const Compute<S>* scales, const Compute<S>* x, S* const* y,
                     std::int64_t offset, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    if (y[r] == nullptr) continue;
    const Compute<S> scale = scales != nullptr ? scales[r] : Compute<S>{1};
    map(
        n, [=](Batch<S> xi) { return scale * xi; }, y[r] + offset, x + r * n);
  }
}

}  // namespace
}  // namespace fovea::cpu::simd
