// Planes of batch and group norm; part of kernels_impl.h, which see. A plane has one mean, one
// scale and one shift, so these are loops over its elements with a few scalars. A call does many
// planes, for a plane may be as small as a pixel.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

template <class S>
struct Two {
  Batch<S> a, b;
};

template <class S>
inline void put(const Batch<S>& batch, S* to, std::int64_t lanes) {
  if (lanes == kLanes<S>) {
    store(batch, to);
  } else {
    Tail<S>().put(batch, to, lanes);
  }
}

// a, b = sums over n elements of f(i, lanes, x0[i], ...) = {a, b}; lanes is the number of valid
// ones. Sums are merged in float64 after every stretch.
template <class S, class F, class... X>
inline void sum_two(std::int64_t n, F f, double& a, double& b, const X*... x) {
  constexpr std::int64_t kStretch = 4096;
  a = 0;
  b = 0;
  for (std::int64_t i = 0; i < n;) {
    const std::int64_t end = n - i < kStretch ? n : i + kStretch;
    Two<S> sums{Batch<S>(Compute<S>{0}), Batch<S>(Compute<S>{0})};
    for (; i + kLanes<S> <= end; i += kLanes<S>) {
      const Two<S> next = f(i, kLanes<S>, load(x + i)...);
      sums.a += next.a;
      sums.b += next.b;
    }
    a += static_cast<double>(xsimd::hadd(sums.a));
    b += static_cast<double>(xsimd::hadd(sums.b));
    if (i == end) continue;
    const Two<S> last = f(i, end - i, Tail<X>(x + i, end - i).get()...);
    alignas(64) Compute<S> values[2][kLanes<S>];
    last.a.store_aligned(values[0]);
    last.b.store_aligned(values[1]);
    for (std::int64_t j = 0; i < end; ++j, ++i) {
      a += static_cast<double>(values[0][j]);
      b += static_cast<double>(values[1][j]);
    }
  }
}

inline float value_of(BFloat16 x) { return widen(x); }
inline float value_of(float x) { return x; }
inline double value_of(double x) { return x; }

// The first element is taken off before anything is added up, so that a plane far from zero keeps
// its digits. Where it was an odd one out, the squares are summed again around the mean.
template <class S>
void plane_moments(const S* x, std::int64_t planes, std::int64_t size, double* means,
                   double* squares) {
  using B = Batch<S>;
  constexpr double kCancellation = 64;
  const double n = static_cast<double>(size);
  const auto around = [size](const S* plane, B origin, double& sum, double& square) {
    sum_two<S>(
        size,
        [=](std::int64_t, std::int64_t, B xi) {
          const B apart = xi - origin;
          return Two<S>{apart, apart * apart};
        },
        sum, square, plane);
  };
  for (std::int64_t p = 0; p < planes; ++p, x += size) {
    double origin = static_cast<double>(value_of(x[0]));
    double sum = 0;
    double square = 0;
    around(x, B(value_of(x[0])), sum, square);
    if (square - sum * sum / n < square / kCancellation) {
      const auto mean = static_cast<Compute<S>>(origin + sum / n);
      origin = static_cast<double>(mean);
      around(x, B(mean), sum, square);
    }
    means[p] = origin + sum / n;
    const double rest = square - sum * sum / n;
    squares[p] = rest > 0 ? rest : 0;
  }
}

template <class S>
void plane_normalise(const NormPlanes<S>& p, const S* residual, S* y) {
  using B = Batch<S>;
  const B zero(Compute<S>{0});
  for (std::int64_t i = 0; i < p.count; ++i) {
    const std::int64_t at = i * p.size;
    const B mean(p.mean[i]);
    const B scale(p.scale[i]);
    const B shift(p.shift[i]);
    const auto norm = [=](B x) { return xsimd::fma(x - mean, scale, shift); };
    const auto relu = [=](B x) { return xsimd::select(x <= zero, zero, x); };
    if (residual == nullptr && !p.relu) {
      map(p.size, norm, y + at, p.x + at);
    } else if (residual == nullptr) {
      map(
          p.size, [=](B x) { return relu(norm(x)); }, y + at, p.x + at);
    } else if (!p.relu) {
      map(
          p.size, [=](B x, B r) { return norm(x) + r; }, y + at, p.x + at, residual + at);
    } else {
      map(
          p.size, [=](B x, B r) { return relu(norm(x) + r); }, y + at, p.x + at, residual + at);
    }
  }
}

// Calls use(gate) with gate: (x - mean, y, dy, scale, shift) -> gradient before the ReLU.
template <class S, class Use>
inline void with_relu_gate(const NormPlanes<S>& p, const S* y, Use use) {
  using B = Batch<S>;
  const B zero(Compute<S>{0});
  if (!p.relu) {
    use([](B, B, B dy, B, B) { return dy; });
  } else if (y == nullptr) {
    use([=](B apart, B, B dy, B scale, B shift) {
      return xsimd::select(xsimd::fma(apart, scale, shift) > zero, dy, zero);
    });
  } else {
    use([=](B, B yi, B dy, B, B) { return xsimd::select(yi > zero, dy, zero); });
  }
}

template <class S>
void plane_gradient_sums(const NormPlanes<S>& p, const S* y, const S* dy, S* dz, double* sums,
                         double* products) {
  using B = Batch<S>;
  with_relu_gate<S>(p, y, [&](auto gate) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      const std::int64_t at = i * p.size;
      const B mean(p.mean[i]);
      const B scale(p.scale[i]);
      const B shift(p.shift[i]);
      sum_two<S>(
          p.size,
          [=](std::int64_t j, std::int64_t lanes, B x, B yi, B d) {
            const B apart = x - mean;
            const B z = gate(apart, yi, d, scale, shift);
            if (dz != nullptr) put(z, dz + at + j, lanes);
            return Two<S>{z, z * apart};
          },
          sums[i], products[i], p.x + at, (y != nullptr ? y : dy) + at, dy + at);
    }
  });
}

template <class S>
void plane_gradient(const NormPlanes<S>& p, const S* y, const S* dy, const Compute<S>* by_x,
                    const Compute<S>* constant, S* dx) {
  using B = Batch<S>;
  with_relu_gate<S>(p, y, [&](auto gate) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      const std::int64_t at = i * p.size;
      const B mean(p.mean[i]);
      const B scale(p.scale[i]);
      const B shift(p.shift[i]);
      const B slope(by_x[i]);
      const B offset(constant[i]);
      map(
          p.size,
          [=](B x, B yi, B d) {
            const B apart = x - mean;
            return xsimd::fma(scale, gate(apart, yi, d, scale, shift),
                              xsimd::fma(slope, apart, offset));
          },
          dx + at, p.x + at, (y != nullptr ? y : dy) + at, dy + at);
    }
  });
}

}  // namespace
}  // namespace fovea::cpu::simd
