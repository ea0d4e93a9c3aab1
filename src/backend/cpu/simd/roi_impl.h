// RoIAlign of one box in one plane; part of kernels_impl.h. Rows of pixels are added up first, in
// vectors, then the few columns of each bin, for kRoiRows rows of bins at once: a weight is read
// once for all.
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

// Between two rows of sums in memory.
template <class C>
inline std::int64_t sums_apart(const RoiReads<C>& reads) {
  return (reads.columns + kSlack - 1) / kSlack * kSlack;
}

// Calls visit(first row, rows) for the blocks of rows.
template <class Visit>
inline void for_row_blocks(std::int64_t height, const Visit& visit) {
  for (std::int64_t i = 0; i < height; i += kRoiRows)
    visit(i, height - i < kRoiRows ? height - i : kRoiRows);
}

template <class S>
void roi_bins(const RoiReads<Compute<S>>& reads, const S* plane, Compute<S>* memory, S* y) {
  using C = Compute<S>;
  const std::int64_t ld = sums_apart(reads);
  for_row_blocks(reads.height, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const RoiBin<C>& rows = reads.rows[first + i];
      const S* top = plane + rows.first * reads.stride + reads.first_column;
      for_columns<S>(reads.columns, [&](std::int64_t at, std::int64_t n) {
        Batch<S> sum(C{0});
        for (std::int64_t r = 0; r < rows.count; ++r)
          sum = xsimd::fma(Batch<S>(rows.weights[r]), load_columns(top + r * reads.stride + at, n),
                           sum);
        store(sum, memory + i * ld + at);
      });
    }
    for (std::int64_t j = 0; j < reads.width; ++j) {
      const RoiBin<C>& bin = reads.across[j];
      C sums[kRoiRows] = {};
      for (std::int64_t k = 0; k < bin.count; ++k) {
        const C weight = bin.weights[k];
        const C* from = memory + (bin.first - reads.first_column + k);
        // (Rows behind the last one hold what was there before.)
        for (std::int64_t i = 0; i < kRoiRows; ++i) sums[i] += weight * from[i * ld];
      }
      for (std::int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<S, C>) {
          y[(first + i) * reads.width + j] = sums[i];
        } else {
          y[(first + i) * reads.width + j] = narrow(sums[i]);
        }
      }
    }
  });
}

template <class S>
void roi_bins_backward(const RoiReads<Compute<S>>& reads, const S* dy, Compute<S>* memory,
                       Compute<S>* plane) {
  using C = Compute<S>;
  const std::int64_t ld = sums_apart(reads);
  for_row_blocks(reads.height, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < kRoiRows * ld; i += kLanes<C>) store(Batch<C>(C{0}), memory + i);
    for (std::int64_t j = 0; j < reads.width; ++j) {
      const RoiBin<C>& bin = reads.across[j];
      C gradients[kRoiRows] = {};
      for (std::int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<S, C>) {
          gradients[i] = dy[(first + i) * reads.width + j];
        } else {
          gradients[i] = widen(dy[(first + i) * reads.width + j]);
        }
      }
      for (std::int64_t k = 0; k < bin.count; ++k) {
        const C weight = bin.weights[k];
        C* to = memory + (bin.first - reads.first_column + k);
        for (std::int64_t i = 0; i < kRoiRows; ++i) to[i * ld] += weight * gradients[i];
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const RoiBin<C>& rows = reads.rows[first + i];
      C* top = plane + rows.first * reads.stride + reads.first_column;
      for (std::int64_t r = 0; r < rows.count; ++r) {
        const Batch<C> weight(rows.weights[r]);
        for_columns<C>(reads.columns, [&](std::int64_t at, std::int64_t n) {
          C* to = top + r * reads.stride + at;
          const Batch<C> sum =
              xsimd::fma(weight, load<C>(memory + i * ld + at), load_columns<C>(to, n));
          if (n == kLanes<C>) {
            store(sum, to);
          } else {
            store_part<C>(sum, to, n);
          }
        });
      }
    }
  });
}

}  // namespace
}  // namespace fovea::cpu::simd
