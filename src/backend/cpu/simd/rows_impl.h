// Sums, softmax and normalisation of rows; part of kernels_impl.h.
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

template <class S>
Compute<S> centred_squares(const S* x, Compute<S> mean, std::int64_t n) {
  return accumulate<Compute<S>>(
      n, [mean](Batch<S> xi) { return (xi - mean) * (xi - mean); }, x);
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

template <class S>
void normalise(const S* x, Compute<S> mean, Compute<S> rstd, const Compute<S>* weight,
               const Compute<S>* bias, S* y, std::int64_t n) {
  using B = Batch<S>;
  if (weight != nullptr && bias != nullptr) {
    map(
        n, [=](B xi, B w, B b) { return (xi - mean) * rstd * w + b; }, y, x, weight, bias);
  } else if (weight != nullptr) {
    map(
        n, [=](B xi, B w) { return (xi - mean) * rstd * w; }, y, x, weight);
  } else if (bias != nullptr) {
    map(
        n, [=](B xi, B b) { return (xi - mean) * rstd + b; }, y, x, bias);
  } else {
    map(
        n, [=](B xi) { return (xi - mean) * rstd; }, y, x);
  }
}

// xhat = (x - mean) rstd, e = dy weight:
//   layer norm  dx = rstd (e - mean(e) - xhat mean(e xhat))
//   RMS norm    dx = rstd (e - xhat mean(e xhat))
template <class S>
void normalise_backward(bool centred, const S* x, Compute<S> mean, Compute<S> rstd,
                        const Compute<S>* weight, const S* dy, S* dx, Compute<S>* dweight,
                        Compute<S>* dbias, std::int64_t n) {
  using T = Compute<S>;
  using B = Batch<S>;
  B e_sum(T{0});
  B ex_sum(T{0});
  for_channels<S>(n, [&](const auto lanes, std::int64_t i) {
    const B d = lanes.template load<S>(dy + i);
    // (xhat behind the last channel might be infinite, and must not meet the zeros of e there.)
    const B off = lanes.template load<S>(x + i) - mean;
    const B e = weight != nullptr ? d * lanes.template load<T>(weight + i) : d;
    e_sum += e;
    ex_sum = xsimd::fma(e * off, B(rstd), ex_sum);
    if (dweight != nullptr)
      lanes.template store<T>(xsimd::fma(d, off * rstd, lanes.template load<T>(dweight + i)),
                              dweight + i);
    if (dbias != nullptr) lanes.template store<T>(d + lanes.template load<T>(dbias + i), dbias + i);
  });
  if (dx == nullptr) return;
  const T mean_e = centred ? horizontal_sum<T>(e_sum) / static_cast<T>(n) : T{0};
  const T mean_ex = horizontal_sum<T>(ex_sum) / static_cast<T>(n);
  if (weight != nullptr) {
    map(
        n, [=](B xi, B w, B d) { return rstd * (d * w - mean_e - (xi - mean) * rstd * mean_ex); },
        dx, x, weight, dy);
  } else {
    map(
        n, [=](B xi, B d) { return rstd * (d - mean_e - (xi - mean) * rstd * mean_ex); }, dx, x,
        dy);
  }
}

}  // namespace
}  // namespace fovea::cpu::simd
