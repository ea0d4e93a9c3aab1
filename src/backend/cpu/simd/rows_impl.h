// Sums and softmax of rows; part of kernels_impl.h.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/elementwise_impl.h"

namespace fovea::cpu::simd {
namespace {

template <class S>
Compute<S> sum(const S* x, std::int64_t n) {
  return accumulate<Compute<S>>(
      n, [](Batch<S> xi) { return xi; }, x);
}

template <class S>
Compute<S> dot(const S* x, const S* y, std::int64_t n) {
  return accumulate<Compute<S>>(
      n, [](Batch<S> xi, Batch<S> yi) { return xi * yi; }, x, y);
}

template <class T>
T max(const T* x, std::int64_t n) {
  T best = x[0];
  std::int64_t i = 0;
  if (n >= kLanes<T>) {
    Batch<T> running = load(x);
    for (i = kLanes<T>; i + kLanes<T> <= n; i += kLanes<T>) {
      running = xsimd::max(running, load(x + i));
    }
    best = horizontal_max<T>(running);
  }
  for (; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

// A NaN is remembered apart: min and max drop it on one side.
template <bool kLargest, class T>
T extremum_of(const T* x, std::int64_t n) {
  using B = Batch<T>;
  const auto better = [](B a, B b) { return kLargest ? xsimd::max(a, b) : xsimd::min(a, b); };
  B even(x[0]);
  B odd(x[0]);
  auto whole = even == even;  // (for a NaN this is false everywhere, != only on some processors)
  std::int64_t i = 0;
  for (; i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {
    const B left = load(x + i);
    const B right = load(x + i + kLanes<T>);
    even = better(even, left);
    odd = better(odd, right);
    whole = whole & (left == left) & (right == right);
  }
  for (; i < n; i += kLanes<T>) {
    Tail<T> tail(x + i, n - i < kLanes<T> ? n - i : kLanes<T>);
    for (std::int64_t j = n - i; j < kLanes<T>; ++j) tail.values[j] = x[0];
    const B last = tail.get();
    even = better(even, last);
    whole = whole & (last == last);
  }
  if (!xsimd::all(whole)) return static_cast<T>(__builtin_nan(""));
  return fold<T>(better(even, odd), [](T a, T b) { return (a > b) == kLargest ? a : b; });
}

template <class T>
T extremum(bool largest, const T* x, std::int64_t n) {
  return largest ? extremum_of<true>(x, n) : extremum_of<false>(x, n);
}

template <class T>
T exp_sum(const T* x, T shift, T* y, std::int64_t n) {
  Batch<T> total(T{0});
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    const Batch<T> e = exponential(load(x + i) - shift);
    if (y != nullptr) store(e, y + i);
    total += e;
  }
  T result = horizontal_sum<T>(total);
  if (i < n) {
    const std::int64_t left = n - i;
    Tail<T> tail(x + i, left);
    store(exponential(tail.get() - shift), tail.values);
    for (std::int64_t j = 0; j < left; ++j) {
      if (y != nullptr) y[i + j] = tail.values[j];
      result += tail.values[j];
    }
  }
  return result;
}

template <class T>
void softmax_backward(T scale, const T* y, const T* dy, T shift, T* dx, std::int64_t n) {
  map(
      n, [=](Batch<T> yi, Batch<T> di) { return scale * yi * (di - shift); }, dx, y, dy);
}

template <class T>
void combine(T c1, const T* p1, T c2, const T* p2, T* a, std::int64_t n) {
  map(
      n, [=](Batch<T> l, Batch<T> r) { return c1 * l + c2 * r; }, a, p1, p2);
}

}  // namespace
}  // namespace fovea::cpu::simd
