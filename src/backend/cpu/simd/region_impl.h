// Sums over pixels of maps of classes; part of kernels_impl.h. A vector is as many
// pixels of one class; maps of the classes are a plane apart.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/elementwise_impl.h"

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

// The probabilities of a few pixels, classes next to each other in `p`. Returns the log-sum-exp, p
// = exp(logit - that); 0 for a sigmoid.
template <class S, class L>
inline Batch<S> probabilities(const RegionPixels<S>& r, const L& lanes, std::int64_t first,
                              Compute<S>* p) {
  using B = Batch<S>;
  using C = Compute<S>;
  const auto logits = [&](std::int64_t k) {
    return lanes.template load<S>(r.logits + k * r.plane + first);
  };
  if (r.sigmoid) {
    for (std::int64_t k = 0; k < r.classes; ++k)
      sigmoid<C>(logits(k)).store_aligned(p + k * kLanes<S>);
    return B(C{0});
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
  return top + xsimd::log(total);
}

template <class S>
void region_sums(const RegionPixels<S>& r, Compute<S>* memory, double* totals) {
  using B = Batch<S>;
  using C = Compute<S>;
  const std::int64_t size = r.classes * kLanes<S>;
  C* sums = memory + size;
  for (std::int64_t i = 0; i < 4 * size; ++i) sums[i] = C{0};
  const B zero(C{0});
  const B one(C{1});
  B surprise = zero;
  for_channels<S>(r.pixels, [&](const auto lanes, std::int64_t first) {
    const B label = labels_of(r, first, lanes.count);
    const auto counts = label >= zero;
    const B shift = probabilities(r, lanes, first, memory);
    B logit = zero;  // of the label
    for (std::int64_t k = 0; k < r.classes; ++k) {
      C* at = sums + k * kLanes<S>;
      const auto add = [&](std::int64_t which, const B& x) {
        (B::load_aligned(at + which * size) + x).store_aligned(at + which * size);
      };
      const auto own = label == B(static_cast<C>(k));
      const B p = xsimd::select(counts, B::load_aligned(memory + k * kLanes<S>), zero);
      add(0, xsimd::select(own, p, zero));
      add(1, p);
      add(2, p * p);
      add(3, xsimd::select(own, one, zero));
      if (!r.sigmoid)
        logit = xsimd::select(own, lanes.template load<S>(r.logits + k * r.plane + first), logit);
    }
    surprise += xsimd::select(counts, shift - logit, zero);
  });
  for (std::int64_t i = 0; i < 4 * r.classes; ++i)
    totals[i] = horizontal_sum<C>(B::load_aligned(sums + i * kLanes<S>));
  totals[4 * r.classes] = horizontal_sum<C>(surprise);
}

// dlogit = p (dp - sum of p dp), of a sigmoid p (1 - p) dp, and of the surprise p - t.
template <class S>
void region_gradient(const RegionPixels<S>& r, Compute<S>* memory,
                     const RegionSlopes<Compute<S>>& slopes, S* dlogits) {
  using B = Batch<S>;
  using C = Compute<S>;
  C* gradients = memory + r.classes * kLanes<S>;
  const B zero(C{0});
  const B one(C{1});
  const B surprise(r.sigmoid ? C{0} : slopes.surprise);
  for_channels<S>(r.pixels, [&](const auto lanes, std::int64_t first) {
    const B label = labels_of(r, first, lanes.count);
    probabilities(r, lanes, first, memory);
    B products(C{0});
    for (std::int64_t k = 0; k < r.classes; ++k) {
      const B p = B::load_aligned(memory + k * kLanes<S>);
      const B own = xsimd::select(label == B(static_cast<C>(k)), B(slopes.both[k]), zero);
      const B dp = own + B(slopes.sums[k]) + B(slopes.squares[k] + slopes.squares[k]) * p;
      dp.store_aligned(gradients + k * kLanes<S>);
      products += p * dp;
    }
    for (std::int64_t k = 0; k < r.classes; ++k) {
      const B p = B::load_aligned(memory + k * kLanes<S>);
      const B dp = B::load_aligned(gradients + k * kLanes<S>);
      const B t = xsimd::select(label == B(static_cast<C>(k)), one, zero);
      const B slope = (r.sigmoid ? p * (one - p) * dp : p * (dp - products)) + surprise * (p - t);
      lanes.template store<S>(xsimd::select(label >= zero, slope, zero),
                              dlogits + k * r.plane + first);
    }
  });
}

}  // namespace
}  // namespace fovea::cpu::simd
