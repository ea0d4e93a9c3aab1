// Loops over batches of elements; part of kernels_impl.h, which see.
#pragma once

#include <xsimd/xsimd.hpp>

#include <cstdint>

namespace fovea::cpu::simd {
namespace {

template <class T>
using Batch = xsimd::batch<T>;

template <class T>
constexpr std::int64_t kLanes = static_cast<std::int64_t>(Batch<T>::size);

// The tail is computed in a full batch as well, so an element's value does not depend on where a
// piece of work ends.
template <class T>
struct Tail {
  alignas(64) T values[kLanes<T>] = {};
  Tail() = default;
  Tail(const T* from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = from[i];
  }
  Batch<T> load() const { return Batch<T>::load_aligned(values); }
  void store(const Batch<T>& batch, T* to, std::int64_t n) {
    batch.store_aligned(values);
    for (std::int64_t i = 0; i < n; ++i) to[i] = values[i];
  }
};

// y[i] = f(x0[i], x1[i], ...) for any number of inputs.
template <class T, class F, class... X>
inline void map(std::int64_t n, F f, T* y, const X*... x) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>)
    f(Batch<T>::load_unaligned(x + i)...).store_unaligned(y + i);
  if (i < n) Tail<T>().store(f(Tail<T>(x + i, n - i).load()...), y + i, n - i);
}

template <class T>
inline T horizontal_sum(const Batch<T>& batch) {
  alignas(64) T values[kLanes<T>];
  batch.store_aligned(values);
  for (std::int64_t width = kLanes<T> / 2; width > 0; width /= 2) {
    for (std::int64_t i = 0; i < width; ++i) values[i] += values[i + width];
  }
  return values[0];
}

// Sum of f(x0[i], ...); two accumulators hide the latency of the additions.
template <class T, class F, class... X>
inline T accumulate(std::int64_t n, F f, const X*... x) {
  Batch<T> even(T{0});
  Batch<T> odd(T{0});
  std::int64_t i = 0;
  for (; i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {
    even += f(Batch<T>::load_unaligned(x + i)...);
    odd += f(Batch<T>::load_unaligned(x + i + kLanes<T>)...);
  }
  T sum = horizontal_sum(even + odd);
  for (; i < n; i += kLanes<T>) {
    const std::int64_t left = n - i < kLanes<T> ? n - i : kLanes<T>;
    Tail<T> tail;
    const Batch<T> values = f(Tail<T>(x + i, left).load()...);
    values.store_aligned(tail.values);
    for (std::int64_t j = 0; j < left; ++j) sum += tail.values[j];
  }
  return sum;
}

}  // namespace
}  // namespace fovea::cpu::simd
