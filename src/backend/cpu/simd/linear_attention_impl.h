// Rows of linear attention, from features to the norm and gate of results; part of kernels_impl.h.
// A row of a head is a few vectors long.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/elementwise_impl.h"

namespace fovea::cpu::simd {
namespace {

// exp(x) itself below 0, not elu(x) + 1, which would round small ones away. gdla 2.2, mala 3.1.
template <class T>
inline xsimd::batch<T> feature(FeatureMap map, const xsimd::batch<T>& x) {
  const xsimd::batch<T> zero(T{0});
  switch (map) {
    case FeatureMap::kEluPlusOne:
      return xsimd::select(x > zero, x + T{1}, exponential_below(xsimd::min(zero, x)));
    case FeatureMap::kRelu:
      return xsimd::max(x, zero);
    case FeatureMap::kExp:
      return exponential(x);
    default:
      return x;
  }
}

template <class S>
void feature_rows(FeatureMap map, const S* x, std::int64_t ldx, Compute<S>* y, std::int64_t ldy,
                  std::int64_t rows, std::int64_t n, Compute<S>* sums) {
  using B = Batch<S>;
  using C = Compute<S>;
  for_channels<S>(n, [&](const auto lanes, std::int64_t c) {
    B total(C{0});
    for (std::int64_t r = 0; r < rows; ++r) {
      const B value = feature<C>(map, lanes.template load<S>(x + r * ldx + c));
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

// The slope of the feature map from its value; that of a ReLU at 0 is 0.
template <class T>
inline xsimd::batch<T> feature_slope(FeatureMap map, const xsimd::batch<T>& value) {
  const xsimd::batch<T> zero(T{0});
  const xsimd::batch<T> one(T{1});
  switch (map) {
    case FeatureMap::kEluPlusOne:
      return xsimd::select(value > one, one, value);
    case FeatureMap::kRelu:
      return xsimd::select(value > zero, one, zero);
    case FeatureMap::kExp:
      return value;
    default:
      return one;
  }
}

template <class T>
void row_dots(const T* x, std::int64_t ldx, const T* y, std::int64_t ldy, std::int64_t rows,
              std::int64_t n, T* dots) {
  for (std::int64_t r = 0; r < rows; ++r) {
    dots[r] = over_channels<T>(n, [&](const auto lanes, std::int64_t c) {
      return lanes.template load<T>(x + r * ldx + c) * lanes.template load<T>(y + r * ldy + c);
    });
  }
}

template <class T>
void scale_rows(const T* factors, T* x, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const xsimd::batch<T> factor(factors[r]);
    for_channels<T>(n, [&](const auto lanes, std::int64_t c) {
      lanes.template store<T>(factor * lanes.template load<T>(x + r * n + c), x + r * n + c);
    });
  }
}

template <class T>
void sum_rows(const T* factors, const T* x, std::int64_t rows, std::int64_t n, T* sums) {
  using B = xsimd::batch<T>;
  for_channels<T>(n, [&](const auto lanes, std::int64_t c) {
    B total = lanes.template load<T>(sums + c);
    for (std::int64_t r = 0; r < rows; ++r) {
      const B factor(factors == nullptr ? T{1} : factors[r]);
      total = xsimd::fma(factor, B(lanes.template load<T>(x + r * n + c)), total);
    }
    lanes.template store<T>(total, sums + c);
  });
}

template <class T>
void running_rows(bool from_behind, const T* start, const T* factors, const T* x, std::int64_t rows,
                  std::int64_t n, T* to) {
  using B = xsimd::batch<T>;
  for_channels<T>(n, [&](const auto lanes, std::int64_t c) {
    B total = lanes.template load<T>(start + c);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t r = from_behind ? rows - 1 - i : i;
      const B factor(factors == nullptr ? T{1} : factors[r]);
      total = xsimd::fma(factor, B(lanes.template load<T>(x + r * n + c)), total);
      lanes.template store<T>(total, to + r * n + c);
    }
  });
}

template <class T>
void magnitude_rows(const T* beta, const T* gamma, const T* u, std::int64_t ldu, T* y,
                    std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const xsimd::batch<T> b(beta[r]);
    const xsimd::batch<T> g(gamma[r]);
    T* row = y + r * n;
    for_channels<T>(n, [&](const auto lanes, std::int64_t c) {
      const auto less = g * lanes.template load<T>(u + r * ldu + c);
      lanes.template store<T>(b * lanes.template load<T>(row + c) - less, row + c);
    });
  }
}

template <class T>
void magnitude_gradient_rows(FeatureMap map, const T* s, std::int64_t lds, const T* dz, const T* q,
                             T* dq, std::int64_t rows, std::int64_t n, T* ds) {
  using B = xsimd::batch<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    const B by_sum(dz[r]);
    T* gradient = dq + r * n;
    for_channels<T>(n, [&](const auto lanes, std::int64_t c) {
      const B value = lanes.template load<T>(q + r * n + c);
      const B total =
          lanes.template load<T>(gradient + c) + by_sum * lanes.template load<T>(s + r * lds + c);
      lanes.template store<T>(total * feature_slope<T>(map, value), gradient + c);
      if (ds != nullptr)
        lanes.template store<T>(lanes.template load<T>(ds + c) + by_sum * value, ds + c);
    });
  }
}

// Pairs next to each other, n of them; the compiler makes vectors of it. y is x, or apart from it,
// which the pragma tells.
template <class T>
inline void rotate_pairs(const T* cos, const T* sin, T sign, const T* x, T* y, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    const T a = x[2 * i];
    const T b = x[2 * i + 1];
    const T s = sign * sin[i];
    y[2 * i] = a * cos[i] - b * s;
    y[2 * i + 1] = a * s + b * cos[i];
  }
}

template <class S>
void rotate_rows(bool back, const Compute<S>* cos, const Compute<S>* sin, const S* x,
                 std::int64_t ldx, S* y, std::int64_t ldy, std::int64_t rows, std::int64_t n) {
  using C = Compute<S>;
  const C sign{back ? C{-1} : C{1}};
  if constexpr (std::is_same_v<S, C>) {
    for (std::int64_t r = 0; r < rows; ++r)
      rotate_pairs<C>(cos + r * n / 2, sin + r * n / 2, sign, x + r * ldx, y + r * ldy, n / 2);
  } else {
    constexpr std::int64_t kChunk = 64;
    alignas(64) C wide[kChunk], turned[kChunk];
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t first = 0; first < n; first += kChunk) {
        const std::int64_t count = n - first < kChunk ? n - first : kChunk;
        const std::int64_t pair = (r * n + first) / 2;
        widen<S>(x + r * ldx + first, wide, count);
        rotate_pairs<C>(cos + pair, sin + pair, sign, wide, turned, count / 2);
        narrow<S>(turned, y + r * ldy + first, count);
      }
    }
  }
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
void key_gradient_rows(FeatureMap map, const T* ds, std::int64_t ldds, const T* k, T* dk,
                       std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for_channels<T>(n, [&](const auto lanes, std::int64_t c) {
      const auto total =
          lanes.template load<T>(dk + r * n + c) + lanes.template load<T>(ds + r * ldds + c);
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
  if (h.op == UnaryOp::kAffine) return use([](B x) { return Gate<C>{x, B(C{1})}; });
  with_gate<S>(h.op, use);
}

// Rows ld apart, or none.
template <class S, class L>
inline Batch<S> at_row(const S* x, std::int64_t ld, const L& lanes, std::int64_t row,
                       std::int64_t c) {
  return x == nullptr ? Batch<S>(Compute<S>{0}) : lanes.template load<S>(x + row * ld + c);
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
        if (h.residual != nullptr) value += at_row(h.residual, h.residual_ld, lanes, r, c);
        const B by = gate(at_row(h.gate, h.gate_ld, lanes, r, c)).value;
        lanes.template store<S>(value * by, y + r * ldy + c);
      });
    }
  });
}

// Per row, with n = x rstd and e = dy act(g) weight: dx = rstd (e - n mean(e n)).
template <class S>
void finish_rows_backward(const FinishedRows<S>& h, const Compute<S>* x, const S* dy,
                          std::int64_t ldy, Compute<S>* dx,
                          const FinishedGradients<Compute<S>>& to) {
  using B = Batch<S>;
  using C = Compute<S>;
  const B one(C{1});
  with_head_gate(h, [&](auto gate) {
    for (std::int64_t r = 0; r < h.rows; ++r) {
      const C* row = x + r * h.n;
      C* gradient = dx + r * h.n;
      const bool norm = h.weight != nullptr;
      const B rstd(norm ? inverse_rms<C>(row, h.n, h.eps) : C{1});
      B products(C{0});
      for_channels<S>(h.n, [&](const auto lanes, std::int64_t c) {
        const auto at = gate(at_row(h.gate, h.gate_ld, lanes, r, c));
        const B upstream = lanes.template load<S>(dy + r * ldy + c);
        const B normed = lanes.template load<C>(row + c) * rstd;
        const B weight = norm ? lanes.template load<C>(h.weight + c) : one;
        const B through = upstream * at.value;
        const B e = through * weight;
        if (to.residual != nullptr) lanes.template store<C>(through, to.residual + r * h.n + c);
        if (to.gate != nullptr) {
          B gated = upstream * normed * weight;
          if (h.residual != nullptr)
            gated = upstream * (normed * weight + at_row(h.residual, h.residual_ld, lanes, r, c));
          lanes.template store<C>(gated * at.slope, to.gate + r * h.n + c);
        }
        if (norm)
          lanes.template store<C>(lanes.template load<C>(to.weight + c) + through * normed,
                                  to.weight + c);
        products += e * normed;
        lanes.template store<C>(e, gradient + c);
      });
      if (!norm) continue;
      const B mean(horizontal_sum<C>(products) / static_cast<C>(h.n));
      for_channels<S>(h.n, [&](const auto lanes, std::int64_t c) {
        const B normed = lanes.template load<C>(row + c) * rstd;
        const B value = lanes.template load<C>(gradient + c);
        lanes.template store<C>(rstd * (value - normed * mean), gradient + c);
      });
    }
  });
}

}  // namespace
}  // namespace fovea::cpu::simd
