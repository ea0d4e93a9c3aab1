// Layer norm and RMS norm of rows; part of kernels_impl.h. A row's statistics wait for each other,
// so those of several rows are made side by side; a row has the same bits in any group.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

// (Backward reads two operands; more rows of both at once would be too many places of memory.)
constexpr int kNormRows = 4, kNormRowsBackward = 2;

inline float root(float x) { return __builtin_sqrtf(x); }
inline double root(double x) { return __builtin_sqrt(x); }

// What one vector of channels adds to the sums of rows or of their squares.
template <bool kSquares, int kRows, bool kFull, class S>
[[gnu::always_inline]] inline void add_channels(const Lanes<kFull>& lanes, const S* x,
                                                std::int64_t n, const Batch<S> (&mean)[kRows],
                                                Batch<S> (&sums)[kRows]) {
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const Batch<S> value = lanes.template load<S>(x + r * n);
    if constexpr (kSquares) {
      Batch<S> off = value - mean[r];
      if constexpr (!kFull) off = first_lanes(off, lanes.count);
      sums[r] = xsimd::fma(off, off, sums[r]);
    } else {
      sums[r] += value;
    }
  }
}

// Of each row the mean of its elements, or of the squares of what they are off `mean`.
template <bool kSquares, int kRows, class S>
[[gnu::always_inline]] inline void row_means(const S* x, std::int64_t n,
                                             const Batch<S> (&mean)[kRows],
                                             Compute<S> (&result)[kRows]) {
  Batch<S> sums[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) sums[r] = Batch<S>(Compute<S>{0});
  std::int64_t c = 0;
  for (; c + kLanes<S> <= n; c += kLanes<S>)
    add_channels<kSquares>(Lanes<true>{kLanes<S>}, x + c, n, mean, sums);
  if (c < n) add_channels<kSquares>(Lanes<false>{n - c}, x + c, n, mean, sums);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
    result[r] = horizontal_sum<Compute<S>>(sums[r]) / static_cast<Compute<S>>(n);
}

template <int kRows, class S>
inline void norm_group(const NormRows<S>& rows, std::int64_t first) {
  using T = Compute<S>;
  using B = Batch<S>;
  const S* x = rows.x + first * rows.n;
  B mean[kRows], rstd[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) mean[r] = B(T{0});
  T found[kRows];
  if (rows.mean != nullptr) {
    row_means<false>(x, rows.n, mean, found);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      rows.mean[first + r] = found[r];
      mean[r] = B(found[r]);
    }
  }
  row_means<true>(x, rows.n, mean, found);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    rows.rstd[first + r] = T{1} / root(found[r] + rows.eps);
    rstd[r] = B(rows.rstd[first + r]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const auto normed = [off = mean[r], by = rstd[r]](B value) { return (value - off) * by; };
    const std::int64_t n = rows.n;
    S* y = rows.y + (first + r) * n;
    if (rows.weight != nullptr && rows.bias != nullptr) {
      map(
          n, [=](B value, B w, B b) { return normed(value) * w + b; }, y, x + r * n, rows.weight,
          rows.bias);
    } else if (rows.weight != nullptr) {
      map(
          n, [=](B value, B w) { return normed(value) * w; }, y, x + r * n, rows.weight);
    } else if (rows.bias != nullptr) {
      map(
          n, [=](B value, B b) { return normed(value) + b; }, y, x + r * n, rows.bias);
    } else {
      map(n, normed, y, x + r * n);
    }
  }
}

// What one vector of channels adds to mean(e) and mean(e xhat) of each row, n times, and to the
// gradients of weight and bias, with xhat = (x - mean) rstd and e = dy weight.
template <int kRows, bool kFull, class S>
[[gnu::always_inline]] inline void add_slopes(
    const Lanes<kFull>& lanes, const NormRowsBackward<S>& rows, const S* x, const S* dy,
    std::int64_t c, const Batch<S> (&mean)[kRows], const Batch<S> (&rstd)[kRows],
    Batch<S> (&e_sums)[kRows], Batch<S> (&ex_sums)[kRows]) {
  using T = Compute<S>;
  using B = Batch<S>;
  const B weight = rows.weight == nullptr ? B(T{1}) : lanes.template load<T>(rows.weight + c);
  B dweight(T{0}), dbias(T{0});
  if (rows.dweight != nullptr) dweight = lanes.template load<T>(rows.dweight + c);
  if (rows.dbias != nullptr) dbias = lanes.template load<T>(rows.dbias + c);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const B d = lanes.template load<S>(dy + r * rows.n + c);
    // (xhat behind the last channel might be infinite, and must not meet the zeros of e there.)
    const B off = lanes.template load<S>(x + r * rows.n + c) - mean[r];
    const B e = d * weight;
    e_sums[r] += e;
    ex_sums[r] = xsimd::fma(e * off, rstd[r], ex_sums[r]);
    dweight = xsimd::fma(d, off * rstd[r], dweight);
    dbias += d;
  }
  if (rows.dweight != nullptr) lanes.template store<T>(dweight, rows.dweight + c);
  if (rows.dbias != nullptr) lanes.template store<T>(dbias, rows.dbias + c);
}

template <int kRows, class S>
inline void norm_group_backward(const NormRowsBackward<S>& rows, std::int64_t first) {
  using T = Compute<S>;
  using B = Batch<S>;
  const std::int64_t n = rows.n;
  const S *x = rows.x + first * n, *dy = rows.dy + first * n;
  B mean[kRows], rstd[kRows], e_sums[kRows], ex_sums[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    mean[r] = B(rows.mean == nullptr ? T{0} : rows.mean[first + r]);
    rstd[r] = B(rows.rstd[first + r]);
    e_sums[r] = ex_sums[r] = B(T{0});
  }
  std::int64_t c = 0;
  for (; c + kLanes<S> <= n; c += kLanes<S>)
    add_slopes(Lanes<true>{kLanes<S>}, rows, x, dy, c, mean, rstd, e_sums, ex_sums);
  if (c < n) add_slopes(Lanes<false>{n - c}, rows, x, dy, c, mean, rstd, e_sums, ex_sums);
  // Layer norm: dx = rstd (e - mean(e) - xhat mean(e xhat)); RMS norm: without mean(e).
  if (rows.dx == nullptr) return;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const T of_e = rows.mean == nullptr ? T{0} : horizontal_sum<T>(e_sums[r]);
    const B mean_e(of_e / static_cast<T>(n));
    const B mean_ex(horizontal_sum<T>(ex_sums[r]) / static_cast<T>(n));
    const auto slope = [off = mean[r], by = rstd[r], mean_e, mean_ex](B value, B e) {
      return by * (e - mean_e - (value - off) * by * mean_ex);
    };
    S* dx = rows.dx + (first + r) * n;
    if (rows.weight != nullptr) {
      map(
          n, [=](B value, B d, B weight) { return slope(value, d * weight); }, dx, x + r * n,
          dy + r * n, rows.weight);
    } else {
      map(n, slope, dx, x + r * n, dy + r * n);
    }
  }
}

template <class S>
void norm_rows(const NormRows<S>& rows) {
  std::int64_t r = 0;
  for (; r + kNormRows <= rows.rows; r += kNormRows) norm_group<kNormRows>(rows, r);
  for (; r < rows.rows; ++r) norm_group<1>(rows, r);
}

template <class S>
void norm_rows_backward(const NormRowsBackward<S>& rows) {
  std::int64_t r = 0;
  for (; r + kNormRowsBackward <= rows.rows; r += kNormRowsBackward)
    norm_group_backward<kNormRowsBackward>(rows, r);
  for (; r < rows.rows; ++r) norm_group_backward<1>(rows, r);
}

}  // namespace
}  // namespace fovea::cpu::simd
