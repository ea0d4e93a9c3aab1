// Sums, softmax and normalisation of rows; part of kernels_impl.h, which see.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/elementwise_impl.h"

namespace fovea::cpu::simd {
namespace {

template <class T>
T sum(const T* x, std::int64_t n) {
  return accumulate<T>(
      n, [](Batch<T> xi) { return xi; }, x);
}

template <class T>
T dot(const T* x, const T* y, std::int64_t n) {
  return accumulate<T>(
      n, [](Batch<T> xi, Batch<T> yi) { return xi * yi; }, x, y);
}

template <class T>
T centred_squares(const T* x, T mean, std::int64_t n) {
  return accumulate<T>(
      n, [mean](Batch<T> xi) { return (xi - mean) * (xi - mean); }, x);
}

template <class T>
T max(const T* x, std::int64_t n) {
  T best = x[0];
  std::int64_t i = 0;
  if (n >= kLanes<T>) {
    Batch<T> running = Batch<T>::load_unaligned(x);
    for (i = kLanes<T>; i + kLanes<T> <= n; i += kLanes<T>) {
      running = xsimd::max(running, Batch<T>::load_unaligned(x + i));
    }
    Tail<T> tail;
    running.store_aligned(tail.values);
    best = tail.values[0];
    for (std::int64_t j = 1; j < kLanes<T>; ++j)
      best = tail.values[j] > best ? tail.values[j] : best;
  }
  for (; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

template <class T>
T exp_sum(const T* x, T shift, T* y, std::int64_t n) {
  Batch<T> total(T{0});
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    const Batch<T> e = xsimd::exp(Batch<T>::load_unaligned(x + i) - shift);
    e.store_unaligned(y + i);
    total += e;
  }
  T result = horizontal_sum(total);
  if (i < n) {
    Tail<T> tail(x + i, n - i);
    tail.store(xsimd::exp(tail.load() - shift), y + i, n - i);
    for (; i < n; ++i) result += y[i];
  }
  return result;
}

template <class T>
void softmax_backward(T scale, const T* y, const T* dy, T shift, T* dx, std::int64_t n) {
  map<T>(
      n, [=](Batch<T> yi, Batch<T> di) { return scale * yi * (di - shift); }, dx, y, dy);
}

template <class T>
void combine(T c1, const T* p1, T c2, const T* p2, T* a, std::int64_t n) {
  map<T>(
      n, [=](Batch<T> l, Batch<T> r) { return c1 * l + c2 * r; }, a, p1, p2);
}

template <class T>
void normalise(const T* x, T mean, T rstd, const T* weight, const T* bias, T* y, std::int64_t n) {
  using B = Batch<T>;
  if (weight != nullptr && bias != nullptr) {
    map<T>(
        n, [=](B xi, B w, B b) { return (xi - mean) * rstd * w + b; }, y, x, weight, bias);
  } else if (weight != nullptr) {
    map<T>(
        n, [=](B xi, B w) { return (xi - mean) * rstd * w; }, y, x, weight);
  } else if (bias != nullptr) {
    map<T>(
        n, [=](B xi, B b) { return (xi - mean) * rstd + b; }, y, x, bias);
  } else {
    map<T>(
        n, [=](B xi) { return (xi - mean) * rstd; }, y, x);
  }
}

// xhat = (x - mean) rstd, e = dy weight:
//   layer norm  dx = rstd (e - mean(e) - xhat mean(e xhat)),   RMS norm  dx = rstd (e - xhat mean(e
//   xhat))
template <class T>
void normalise_backward(bool centred, const T* x, T mean, T rstd, const T* weight, const T* dy,
                        T* dx, T* dweight, T* dbias, std::int64_t n) {
  using B = Batch<T>;
  T sum_e = 0;
  T sum_ex = 0;
  if (weight != nullptr) {
    if (centred) sum_e = dot<T>(dy, weight, n);
    sum_ex = accumulate<T>(
        n, [=](B xi, B w, B d) { return d * w * ((xi - mean) * rstd); }, x, weight, dy);
  } else {
    if (centred) sum_e = sum<T>(dy, n);
    sum_ex = accumulate<T>(
        n, [=](B xi, B d) { return d * ((xi - mean) * rstd); }, x, dy);
  }
  const T mean_e = sum_e / static_cast<T>(n);
  const T mean_ex = sum_ex / static_cast<T>(n);
  if (dx != nullptr && weight != nullptr) {
    map<T>(
        n, [=](B xi, B w, B d) { return rstd * (d * w - mean_e - (xi - mean) * rstd * mean_ex); },
        dx, x, weight, dy);
  } else if (dx != nullptr) {
    map<T>(
        n, [=](B xi, B d) { return rstd * (d - mean_e - (xi - mean) * rstd * mean_ex); }, dx, x,
        dy);
  }
  if (dweight != nullptr) {
    map<T>(
        n, [=](B xi, B d, B w) { return w + d * ((xi - mean) * rstd); }, dweight, x, dy,
        static_cast<const T*>(dweight));
  }
  if (dbias != nullptr) axpy<T>(T{1}, dy, dbias, n);
}

}  // namespace
}  // namespace fovea::cpu::simd
