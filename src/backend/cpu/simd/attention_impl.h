// Rows of attention maps; part of kernels_impl.h. Rows lie next to each other, n elements in whole
// vectors.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/exp_impl.h"

namespace fovea::cpu::simd {
namespace {

// Of whole vectors.
template <class T>
inline T largest_score(const T* row, std::int64_t n) {
  Batch<T> running = load(row);
  for (std::int64_t i = kLanes<T>; i < n; i += kLanes<T>)
    running = xsimd::max(running, load(row + i));
  return horizontal_max<T>(running);
}

template <class T>
void softmax_rows(T* map, std::int64_t rows, std::int64_t n, T* sums, T* lse) {
  using B = Batch<T>;
  const T never = -static_cast<T>(__builtin_inff());
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = map + r * n;
    lse[r] = largest_score(row, n);
    // Without this a row without an allowed key would be exp(-inf + inf).
    const B top(lse[r] == never ? T{0} : lse[r]);
    B total(T{0});
    for (std::int64_t i = 0; i < n; i += kLanes<T>) {
      const B e = exponential_below(load(row + i) - top);
      store(e, row + i);
      total += e;
    }
    // 0 where nothing is allowed; the largest score makes it at least 1, and NaN stays NaN.
    const T sum = horizontal_sum<T>(total);
    sums[r] = sum == T{0} ? T{1} : sum;
  }
  simd::map(
      rows, [](B top, B sum) { return top + xsimd::log(sum); }, lse, static_cast<const T*>(lse),
      static_cast<const T*>(sums));
}

template <class T>
void softmax_step(T* map, std::int64_t rows, std::int64_t n, T* tops, T* sums, T* factors) {
  using B = Batch<T>;
  const T never = -static_cast<T>(__builtin_inff());
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = map + r * n;
    const T here = largest_score(row, n);
    const T before = tops[r];
    // (A NaN is passed over here, and shows in the sum.)
    const T after = here > before ? here : before;
    tops[r] = after;
    // Without this a row without an allowed key would be exp(-inf + inf).
    const B top(after == never ? T{0} : after);
    B even(T{0});
    B odd(T{0});
    std::int64_t i = 0;
    for (; i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {
      const B e = exponential_below(load(row + i) - top);
      const B o = exponential_below(load(row + i + kLanes<T>) - top);
      store(e, row + i);
      store(o, row + i + kLanes<T>);
      even += e;
      odd += o;
    }
    if (i < n) {
      const B e = exponential_below(load(row + i) - top);
      store(e, row + i);
      even += e;
    }
    const T sum = horizontal_sum<T>(even + odd);
    if (after == before) {
      factors[r] = T{1};
    } else if (before == never) {  // as of every first block
      factors[r] = T{0};
    } else {
      alignas(64) T lanes[kLanes<T>];
      exponential(B(before) - top).store_aligned(lanes);
      factors[r] = lanes[0];
    }
    sums[r] = sums[r] * factors[r] + sum;
  }
}

template <class T>
void log_sums(const T* tops, const T* sums, T* lse, std::int64_t n) {
  using B = Batch<T>;
  map(
      n, [](B top, B sum) { return top + xsimd::log(xsimd::select(sum == B(T{0}), B(T{1}), sum)); },
      lse, tops, sums);
}

template <class T>
void probability_rows(T* map, std::int64_t rows, std::int64_t n, const T* lse) {
  using B = Batch<T>;
  const T never = -static_cast<T>(__builtin_inff());
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = map + r * n;
    const B shift(lse[r] == never ? T{0} : lse[r]);
    for (std::int64_t i = 0; i < n; i += kLanes<T>)
      store(exponential_below(load(row + i) - shift), row + i);
  }
}

template <class T>
void combine_rows(const T* c1, const T* map1, const T* c2, const T* map2, T* to, std::int64_t rows,
                  std::int64_t n) {
  using B = Batch<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    const B left(c1[r]);
    const B right(c2[r]);
    for (std::int64_t i = r * n; i < (r + 1) * n; i += kLanes<T>)
      store(left * load(map1 + i) + right * load(map2 + i), to + i);
  }
}

template <class T>
void score_gradient_rows(const T* c, const T* upstream, T* map, std::int64_t rows, std::int64_t n,
                         const T* dots) {
  using B = Batch<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = map + r * n;
    const T* d = upstream + r * n;
    const B shift(dots[r]);
    const B scale(c == nullptr ? T{1} : c[r]);
    for (std::int64_t i = 0; i < n; i += kLanes<T>)
      store(scale * load(row + i) * (load(d + i) - shift), row + i);
  }
}

}  // namespace
}  // namespace fovea::cpu::simd
