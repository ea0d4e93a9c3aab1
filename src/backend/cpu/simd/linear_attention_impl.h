// Rows of linear attention, from features to what its results become; part of kernels_impl.h, which
// see. A row of a head is a few vectors long.
#pragma once

#include "backend/cpu/simd/elementwise_impl.h"
#include "backend/cpu/simd/token_impl.h"

namespace fovea::cpu::simd {
namespace {

// exp(x) itself below 0, not elu(x) + 1, which would round small ones away. gdla 2.2.
template <class S>
void feature_rows(FeatureMap map, const S* x, std::int64_t ldx, Compute<S>* y, std::int64_t ldy,
                  std::int64_t rows, std::int64_t n, Compute<S>* sums) {
  using B = Batch<S>;
  using C = Compute<S>;
  const B zero(C{0});
  for_channels<S>(n, [&](const auto lanes, std::int64_t c) {
    B total(C{0});
    for (std::int64_t r = 0; r < rows; ++r) {
      B value = lanes.template load<S>(x + r * ldx + c);
      if (map == FeatureMap::kEluPlusOne)
        value = xsimd::select(value > zero, value + C{1}, exponential(value));
      total += value;
      lanes.template store<C>(value, y + r * ldy + c);
    }
    if (sums != nullptr)
      lanes.template store<C>(total + lanes.template load<C>(sums + c), sums + c);
  });
}

// Sum of f(channel's lanes, channel) over the channels of a row.
template <class T, class F>
inline T over_channels(std::int64_t n, F f) {
  xsimd::batch<T> total(T{0});
  for_channels<T>(n, [&](const auto lanes, std::int64_t c) { total += f(lanes, c); });
  return horizontal_sum<T>(total);
}

template <class T>
void divide_rows(const T* s, T eps, T* x, std::int64_t ld, std::int64_t rows, std::int64_t n,
                 T* divisors) {
  using B = xsimd::batch<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = x + r * ld;
    const T z = over_channels<T>(n, [&](const auto lanes, std::int64_t c) {
      return lanes.template load<T>(row + c) * lanes.template load<T>(s + c);
    });
    divisors[r] = z + eps;
    const B inverse(T{1} / divisors[r]);
    for_channels<T>(n, [&](const auto lanes, std::int64_t c) {
      lanes.template store<T>(inverse * lanes.template load<T>(row + c), row + c);
    });
  }
}

// The slope of the feature map from its value.
template <class T>
inline xsimd::batch<T> feature_slope(FeatureMap map, const xsimd::batch<T>& value) {
  const xsimd::batch<T> one(T{1});
  return map == FeatureMap::kNone ? one : xsimd::select(value > one, one, value);
}

// u = Q / z, w = u . du, ds -= w u, dQ = (du - w s) / z.
template <class T>
void query_gradient_rows(FeatureMap map, const T* s, const T* divisors, const T* u, T* du,
                         std::int64_t ld, std::int64_t rows, std::int64_t n, T* ds) {
  using B = xsimd::batch<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* row = u + r * ld;
    T* gradient = du + r * ld;
    const B w(over_channels<T>(n, [&](const auto lanes, std::int64_t c) {
      return lanes.template load<T>(row + c) * lanes.template load<T>(gradient + c);
    }));
    const B z(divisors[r]);
    const B inverse(T{1} / divisors[r]);
    for_channels<T>(n, [&](const auto lanes, std::int64_t c) {
      const B value = lanes.template load<T>(row + c);
      const B rest = lanes.template load<T>(gradient + c) - w * lanes.template load<T>(s + c);
      lanes.template store<T>(inverse * rest * feature_slope<T>(map, value * z), gradient + c);
      lanes.template store<T>(lanes.template load<T>(ds + c) - w * value, ds + c);
    });
  }
}

template <class T>
void key_gradient_rows(FeatureMap map, const T* ds, const T* k, T* dk, std::int64_t rows,
                       std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for_channels<T>(n, [&](const auto lanes, std::int64_t c) {
      const auto total = lanes.template load<T>(dk + r * n + c) + lanes.template load<T>(ds + c);
      const auto slope = feature_slope<T>(map, lanes.template load<T>(k + r * n + c));
      lanes.template store<T>(total * slope, dk + r * n + c);
    });
  }
}

// One over the root of the mean square.
template <class T>
inline T inverse_rms(const T* x, std::int64_t n, T eps) {
  const T squares = over_channels<T>(n, [&](const auto lanes, std::int64_t c) {
    const auto value = lanes.template load<T>(x + c);
    return value * value;
  });
  const double mean = static_cast<double>(squares / static_cast<T>(n) + eps);
  return static_cast<T>(1 / __builtin_sqrt(mean));
}

// Calls use(f), f: batch -> Gate; without a gate its value is 1.
template <class S, class Use>
inline void with_head_gate(const FinishedRows<S>& h, Use use) {
  using B = Batch<S>;
  using C = Compute<S>;
  if (h.gate == nullptr) return use([](B) { return Gate<C>{B(C{1}), B(C{0})}; });
  with_gate<C>(h.op, use);
}

template <class S, class L>
inline Batch<S> gate_of(const FinishedRows<S>& h, const L& lanes, std::int64_t row,
                        std::int64_t c) {
  using C = Compute<S>;
  return h.gate == nullptr ? Batch<S>(C{0}) : lanes.template load<S>(h.gate + row * h.gate_ld + c);
}

template <class S>
void finish_rows(const FinishedRows<S>& h, const Compute<S>* x, S* y, std::int64_t ldy) {
  using B = Batch<S>;
  using C = Compute<S>;
  with_head_gate(h, [&](auto gate) {
    for (std::int64_t r = 0; r < h.rows; ++r) {
      const C* row = x + r * h.n;
      const B rstd(h.weight == nullptr ? C{1} : inverse_rms<C>(row, h.n, h.eps));
      for_channels<S>(h.n, [&](const auto lanes, std::int64_t c) {
        B value = lanes.template load<C>(row + c) * rstd;
        if (h.weight != nullptr) value = value * lanes.template load<C>(h.weight + c);
        lanes.template store<S>(value * gate(gate_of(h, lanes, r, c)).value, y + r * ldy + c);
      });
    }
  });
}

// Per row, with n = x rstd and e = dy act(g) weight: dx = rstd (e - n mean(e n)).
template <class S>
void finish_rows_backward(const FinishedRows<S>& h, const Compute<S>* x, const S* dy,
                          std::int64_t ldy, Compute<S>* dx, Compute<S>* dgate,
                          Compute<S>* dweight) {
  using B = Batch<S>;
  using C = Compute<S>;
  const B one(C{1});
  with_head_gate(h, [&](auto gate) {
    for (std::int64_t r = 0; r < h.rows; ++r) {
      const C* row = x + r * h.n;
      C* to = dx + r * h.n;
      const bool norm = h.weight != nullptr;
      const B rstd(norm ? inverse_rms<C>(row, h.n, h.eps) : C{1});
      B products(C{0});
      for_channels<S>(h.n, [&](const auto lanes, std::int64_t c) {
        const auto at = gate(gate_of(h, lanes, r, c));
        const B upstream = lanes.template load<S>(dy + r * ldy + c);
        const B normed = lanes.template load<C>(row + c) * rstd;
        const B weight = norm ? lanes.template load<C>(h.weight + c) : one;
        const B through = upstream * at.value;
        const B e = through * weight;
        if (dgate != nullptr)
          lanes.template store<C>(upstream * normed * weight * at.slope, dgate + r * h.n + c);
        if (norm)
          lanes.template store<C>(lanes.template load<C>(dweight + c) + through * normed,
                                  dweight + c);
        products += e * normed;
        lanes.template store<C>(e, to + c);
      });
      if (!norm) continue;
      const B mean(horizontal_sum<C>(products) / static_cast<C>(h.n));
      for_channels<S>(h.n, [&](const auto lanes, std::int64_t c) {
        const B normed = lanes.template load<C>(row + c) * rstd;
        lanes.template store<C>(rstd * (lanes.template load<C>(to + c) - normed * mean), to + c);
      });
    }
  });
}

}  // namespace
}  // namespace fovea::cpu::simd
