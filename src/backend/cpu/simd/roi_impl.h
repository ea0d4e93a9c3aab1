// RoIAlign of one box in one plane; part of kernels_impl.h. Rows of pixels are added up first, in
// vectors, then the few columns of each bin.
#pragma once

#include "backend/cpu/simd/batch_impl.h"

namespace fovea::cpu::simd {
namespace {

// Calls visit(first column, columns) for the vectors of a row, the last one shorter.
template <class S, class Visit>
inline void for_columns(std::int64_t n, const Visit& visit) {
  for (std::int64_t i = 0; i < n; i += kLanes<S>) visit(i, n - i < kLanes<S> ? n - i : kLanes<S>);
}

template <class S>
inline Batch<S> load_columns(const S* from, std::int64_t n) {
  return n == kLanes<S> ? load(from) : load_part(from, n);
}

template <class S>
void roi_bins(const RoiReads<Compute<S>>& reads, const S* plane, Compute<S>* memory, S* y) {
  using C = Compute<S>;
  for (std::int64_t i = 0; i < reads.height; ++i, y += reads.width) {
    const RoiBin<C>& rows = reads.rows[i];
    const S* top = plane + rows.first * reads.stride + reads.first_column;
    for_columns<S>(reads.columns, [&](std::int64_t at, std::int64_t n) {
      Batch<S> sum(C{0});
      for (std::int64_t r = 0; r < rows.count; ++r)
        sum = xsimd::fma(Batch<S>(rows.weights[r]), load_columns(top + r * reads.stride + at, n),
                         sum);
      store(sum, memory + at);
    });
    for (std::int64_t j = 0; j < reads.width; ++j) {
      const RoiBin<C>& bin = reads.across[j];
      const C* from = memory + (bin.first - reads.first_column);
      C sum = 0;
      for (std::int64_t k = 0; k < bin.count; ++k) sum += bin.weights[k] * from[k];
      if constexpr (std::is_same_v<S, C>) {
        y[j] = sum;
      } else {
        y[j] = narrow(sum);
      }
    }
  }
}

template <class S>
void roi_bins_backward(const RoiReads<Compute<S>>& reads, const S* dy, Compute<S>* memory,
                       Compute<S>* plane) {
  using C = Compute<S>;
  for (std::int64_t i = 0; i < reads.height; ++i, dy += reads.width) {
    for_columns<C>(reads.columns,
                   [&](std::int64_t at, std::int64_t) { store(Batch<C>(C{0}), memory + at); });
    for (std::int64_t j = 0; j < reads.width; ++j) {
      const RoiBin<C>& bin = reads.across[j];
      C* to = memory + (bin.first - reads.first_column);
      C gradient;
      if constexpr (std::is_same_v<S, C>) {
        gradient = dy[j];
      } else {
        gradient = widen(dy[j]);
      }
      for (std::int64_t k = 0; k < bin.count; ++k) to[k] += bin.weights[k] * gradient;
    }
    const RoiBin<C>& rows = reads.rows[i];
    C* top = plane + rows.first * reads.stride + reads.first_column;
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const Batch<C> weight(rows.weights[r]);
      for_columns<C>(reads.columns, [&](std::int64_t at, std::int64_t n) {
        C* to = top + r * reads.stride + at;
        const Batch<C> sum = xsimd::fma(weight, load<C>(memory + at), load_columns<C>(to, n));
        if (n == kLanes<C>) {
          store(sum, to);
        } else {
          store_part<C>(sum, to, n);
        }
      });
    }
  }
}

}  // namespace
}  // namespace fovea::cpu::simd
