// Sums over pixels of maps of classes; part of kernels_impl.h, which see. A vector is as many
// pixels of one class; maps of the classes are a plane apart.
#pragma once

#include "backend/cpu/simd/elementwise_impl.h"
#include "backend/cpu/simd/token_impl.h"

namespace fovea::cpu::simd {
namespace {

// The classes of a few pixels as numbers: -1 where a pixel does not count.
template <class S>
inline Batch<S> labels_of(const RegionPixels<S>& r, std::int64_t first, std::int64_t count) {
  using C = Compute<S>;
  alignas(64) C labels[kLanes<S>];
  for (std::int64_t i = 0; i < kLanes<S>; ++i) {
    const std::int64_t label = i < count ? r.target[first + i] : r.ignore_index;
    labels[i] = label == r.ignore_index ? C{-1} : static_cast<C>(label);
  }
  return Batch<S>::load_aligned(labels);
}

// The probabilities of a few pixels, classes next to each other in `p`.
template <class S, class L>
inline void probabilities(const RegionPixels<S>& r, const L& lanes, std::int64_t first,
                          Compute<S>* p) {
  using B = Batch<S>;
  using C = Compute<S>;
  const auto logits = [&](std::int64_t k) {
    return lanes.template load<S>(r.logits + k * r.plane + first);
  };
  if (r.sigmoid) {
    for (std::int64_t k = 0; k < r.classes; ++k)
      sigmoid<C>(logits(k)).store_aligned(p + k * kLanes<S>);
    return;
  }
  B top = logits(0);
  for (std::int64_t k = 1; k < r.classes; ++k) top = xsimd::max(top, logits(k));
  B total(C{0});
  for (std::int64_t k = 0; k < r.classes; ++k) {
    const B e = exponential(logits(k) - top);
    e.store_aligned(p + k * kLanes<S>);
    total += e;
  }
  const B inverse = C{1} / total;
  for (std::int64_t k = 0; k < r.classes; ++k) {
    C* at = p + k * kLanes<S>;
    (inverse * B::load_aligned(at)).store_aligned(at);
  }
}

template <class S>
void region_sums(const RegionPixels<S>& r, Compute<S>* memory, double* both, double* squares) {
  using B = Batch<S>;
  using C = Compute<S>;
  const std::int64_t size = r.classes * kLanes<S>;
  C* sums = memory + size;
  for (std::int64_t i = 0; i < 2 * size; ++i) sums[i] = C{0};
  for_channels<S>(r.pixels, [&](const auto lanes, std::int64_t first) {
    const B label = labels_of(r, first, lanes.count);
    const B zero(C{0});
    probabilities(r, lanes, first, memory);
    for (std::int64_t k = 0; k < r.classes; ++k) {
      C* of_both = sums + k * kLanes<S>;
      C* of_squares = of_both + size;
      const B p = B::load_aligned(memory + k * kLanes<S>);
      const B own = xsimd::select(label == B(static_cast<C>(k)), p, zero);
      const B square = xsimd::select(label >= zero, p * p, zero);
      (B::load_aligned(of_both) + own).store_aligned(of_both);
      (B::load_aligned(of_squares) + square).store_aligned(of_squares);
    }
  });
  for (std::int64_t k = 0; k < r.classes; ++k) {
    both[k] = horizontal_sum<C>(B::load_aligned(sums + k * kLanes<S>));
    squares[k] = horizontal_sum<C>(B::load_aligned(sums + size + k * kLanes<S>));
  }
}

template <class S>
void region_gradient(const RegionPixels<S>& r, Compute<S>* memory, const Compute<S>* dboth,
                     const Compute<S>* dsquares, S* dlogits) {
  using B = Batch<S>;
  using C = Compute<S>;
  C* gradients = memory + r.classes * kLanes<S>;
  const B zero(C{0});
  const B one(C{1});
  for_channels<S>(r.pixels, [&](const auto lanes, std::int64_t first) {
    const B label = labels_of(r, first, lanes.count);
    probabilities(r, lanes, first, memory);
    B products(C{0});
    for (std::int64_t k = 0; k < r.classes; ++k) {
      const B p = B::load_aligned(memory + k * kLanes<S>);
      const B own = xsimd::select(label == B(static_cast<C>(k)), B(dboth[k]), zero);
      const B dp = own + B(dsquares[k] + dsquares[k]) * p;
      dp.store_aligned(gradients + k * kLanes<S>);
      products += p * dp;
    }
    for (std::int64_t k = 0; k < r.classes; ++k) {
      const B p = B::load_aligned(memory + k * kLanes<S>);
      const B dp = B::load_aligned(gradients + k * kLanes<S>);
      const B slope = r.sigmoid ? p * (one - p) * dp : p * (dp - products);
      lanes.template store<S>(xsimd::select(label >= zero, slope, zero),
                              dlogits + k * r.plane + first);
    }
  });
}

}  // namespace
}  // namespace fovea::cpu::simd
