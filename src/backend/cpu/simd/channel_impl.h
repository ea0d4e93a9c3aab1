// Planes of batch and group norm; part of kernels_impl.h. A plane has one mean, one scale and one
// shift, so these are loops over its elements with a few scalars. A call computes many planes,
// since a plane may be as small as a pixel.
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
    store_part(batch, to, lanes);
  }
}

// a, b = sums over n elements of f(i, lanes, x0[i], ...) = {a, b}; lanes is the number of valid
// ones. Sums are merged in float64 after every stretch. Inlined by force: called with a batch
// inside f, GCC 12 returns from it, and then from its caller, with the upper halves of the
// registers in use, which slows every scalar instruction of the baseline that follows.
template <class S, class F, class... X>
[[gnu::always_inline]] inline void sum_two(std::int64_t n, F f, double& a, double& b,
                                           const X*... x) {
  constexpr std::int64_t kStretch = 128 * kLanes<S>;  // a lane adds up few numbers of any width
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
    const Two<S> last = f(i, end - i, load_part(x + i, end - i)...);
    alignas(64) Compute<S> values[2][kLanes<S>];
    last.a.store_aligned(values[0]);
    last.b.store_aligned(values[1]);
    for (std::int64_t j = 0; i < end; ++j, ++i) {
      a += static_cast<double>(values[0][j]);
      b += static_cast<double>(values[1][j]);
    }
  }
}

// The first element is subtracted before anything is added up, so that a plane far from zero keeps
// its digits. Where it is an outlier, the squares are summed again around the mean.
template <class S>
void plane_moments(const S* x, std::int64_t planes, std::int64_t size, double* means,
                   double* squares) {
  using B = Batch<S>;
  constexpr double kCancellation = 64;
  const double n = static_cast<double>(size);
  const auto around = [size](const S* plane, Compute<S> value, double& sum, double& square) {
    const B origin(value);
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
    around(x, value_of(x[0]), sum, square);
    if (square - sum * sum / n < square / kCancellation) {
      const auto mean = static_cast<Compute<S>>(origin + sum / n);
      origin = static_cast<double>(mean);
      around(x, mean, sum, square);
    }
    means[p] = origin + sum / n;
    const double rest = square - sum * sum / n;
    squares[p] = rest > 0 ? rest : 0;
  }
}

template <class S>
void plane_normalise(const NormPlanes<S>& p, S* y) {
  using B = Batch<S>;
  const B zero(Compute<S>{0});
  for (std::int64_t i = 0; i < p.count; ++i) {
    const std::int64_t at = i * p.size;
    const B mean(p.mean[i]);
    const B scale(p.scale[i]);
    const B shift(p.shift[i]);
    const auto norm = [=](B x) { return xsimd::fma(x - mean, scale, shift); };
    const auto relu = [=](B x) { return xsimd::select(x <= zero, zero, x); };
    const auto write = [&](auto f, auto... x) {
      p.past_caches ? map_past(p.size, f, y + at, x...) : map(p.size, f, y + at, x...);
    };
    if (p.residual == nullptr && !p.relu) {
      write(norm, p.x + at);
    } else if (p.residual == nullptr) {
      write([=](B x) { return relu(norm(x)); }, p.x + at);
    } else if (!p.relu) {
      write([=](B x, B r) { return norm(x) + r; }, p.x + at, p.residual + at);
    } else {
      write([=](B x, B r) { return relu(norm(x) + r); }, p.x + at, p.residual + at);
    }
  }
}

// Calls use(gate, operand) with gate: (norm, value of the operand, dy) -> gradient before the ReLU.
// The operand is dy itself where the gate does not look at it. Gates hold no batch: see sum_two.
template <class S, class Use>
inline void with_relu_gate(const NormPlanes<S>& p, const S* dy, Use use) {
  using B = Batch<S>;
  const auto open = [](B where, B d) {
    const B zero(Compute<S>{0});
    return xsimd::select(where > zero, d, zero);
  };
  if (!p.relu) {
    use([](B, B, B d) { return d; }, dy);
  } else if (p.y != nullptr) {
    use([=](B, B y, B d) { return open(y, d); }, p.y);
  } else if (p.residual != nullptr) {
    use([=](B norm, B r, B d) { return open(norm + r, d); }, p.residual);
  } else {
    use([=](B norm, B, B d) { return open(norm, d); }, dy);
  }
}

template <class S>
void plane_gradient_sums(const NormPlanes<S>& p, const S* dy, S* dz, double* sums,
                         double* products) {
  using B = Batch<S>;
  with_relu_gate<S>(p, dy, [&](auto gate, const S* operand) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      const std::int64_t at = i * p.size;
      const B mean(p.mean[i]);
      const B scale(p.scale[i]);
      const B shift(p.shift[i]);
      sum_two<S>(
          p.size,
          [=](std::int64_t j, std::int64_t lanes, B x, B o, B d) {
            const B apart = x - mean;
            const B z = gate(xsimd::fma(apart, scale, shift), o, d);
            if (dz != nullptr) put(z, dz + at + j, lanes);
            return Two<S>{z, z * apart};
          },
          sums[i], products[i], p.x + at, operand + at, dy + at);
    }
  });
}

template <class S>
void plane_gradient(const NormPlanes<S>& p, const S* dy, const Compute<S>* by_x,
                    const Compute<S>* constant, S* dx) {
  using B = Batch<S>;
  with_relu_gate<S>(p, dy, [&](auto gate, const S* operand) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      const std::int64_t at = i * p.size;
      const B mean(p.mean[i]);
      const B scale(p.scale[i]);
      const B shift(p.shift[i]);
      const B slope(by_x[i]);
      const B offset(constant[i]);
      map(
          p.size,
          [=](B x, B o, B d) {
            const B apart = x - mean;
            const B z = gate(xsimd::fma(apart, scale, shift), o, d);
            return xsimd::fma(scale, z, xsimd::fma(slope, apart, offset));
          },
          dx + at, p.x + at, operand + at, dy + at);
    }
  });
}

}  // namespace
}  // namespace fovea::cpu::simd
