// The planes of batch and group norm: how they are divided among threads, statistics over sets of
// planes, and the mean, scale and shift of each.
#pragma once

#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "backend/cpu/simd/simd.h"
#include "backend/cpu/thread_pool.h"

namespace fovea::cpu {

/// A tensor (b, c, spatial...) as planes. A set of planes shares a mean: one channel of all items
/// (groups = 0) or one group of one item.
struct Planes {
  std::int64_t batch, channels, size, groups;

  Planes(const Tensor& x, std::int64_t norm_groups)
      : batch(x.shape()[0]), channels(x.shape()[1]), size(1), groups(norm_groups) {
    for (int axis = 2; axis < x.rank(); ++axis) size *= x.shape()[axis];
  }
  std::int64_t count() const { return batch * channels; }
  std::int64_t sets() const { return groups == 0 ? channels : batch * groups; }
  std::int64_t planes_per_set() const { return groups == 0 ? batch : channels / groups; }
  /// What sums over a set are divided by: at least 1, so that means of an empty batch are 0.
  double divisor() const {
    return static_cast<double>(std::max<std::int64_t>(1, planes_per_set()));
  }
  double elements_per_set() const { return divisor() * static_cast<double>(size); }
  std::int64_t set_of(std::int64_t plane) const {
    return groups == 0 ? plane % channels : plane / (channels / groups);
  }
  /// Planes with a mean, scale and shift of their own: one of each channel, or all.
  std::int64_t distinct() const { return groups == 0 ? channels : count(); }
};

/// (x - mean) scale + shift for every distinct plane. C: float or double.
template <class C>
class PlaneNumbers {
 public:
  PlaneNumbers(const Planes& planes, const ChannelNorm& norm)
      : count_(planes.distinct()),
        memory_(Tensor::empty({3, count_}, kDTypeOf<C>, norm.mean.device())),
        values_(memory_.template data<C>()) {
    const C* weight = norm.weight.defined() ? norm.weight.data<C>() : nullptr;
    const C* bias = norm.bias.defined() ? norm.bias.data<C>() : nullptr;
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t set = planes.set_of(i);
      const std::int64_t c = i % planes.channels;
      // The mean is subtracted first: folding it into the shift loses digits far from zero.
      values_[i] = norm.mean.data<C>()[set];
      values_[count_ + i] = norm.rstd.data<C>()[set] * (weight != nullptr ? weight[c] : C{1});
      values_[2 * count_ + i] = bias != nullptr ? bias[c] : C{0};
    }
  }
  /// `count` planes at x, `size` elements each; the first has the mean, scale and shift of the
  /// distinct plane `first`.
  template <class S>
  simd::NormPlanes<S> planes_at(const S* x, std::int64_t first, std::int64_t count,
                                std::int64_t size) const {
    return {.count = count,
            .size = size,
            .x = x,
            .mean = values_ + first,
            .scale = values_ + count_ + first,
            .shift = values_ + 2 * count_ + first};
  }

 private:
  std::int64_t count_;
  Tensor memory_;
  C* values_;
};

/// Calls body(first plane, number of planes, the first one's distinct plane) until all planes are
/// visited; the planes of one call belong to one item.
template <class Body>
void for_planes(ThreadPool& pool, const Planes& planes, const Body& body) {
  if (planes.count() == 0) return;
  constexpr std::int64_t kPieceElements = 1 << 15;
  const std::int64_t block =
      std::clamp<std::int64_t>(kPieceElements / planes.size, 1, planes.channels);
  const std::int64_t blocks = (planes.channels + block - 1) / block;
  const std::int64_t items =
      blocks > 1 ? 1 : std::max<std::int64_t>(1, kPieceElements / (planes.channels * planes.size));
  const std::int64_t pieces = (planes.batch + items - 1) / items;
  pool.run(pieces * blocks, [&](std::int64_t piece) {
    const std::int64_t channel = piece % blocks * block;
    const std::int64_t count = std::min(block, planes.channels - channel);
    const std::int64_t first = piece / blocks * items;
    for (std::int64_t i = first; i < std::min(planes.batch, first + items); ++i) {
      const std::int64_t plane = i * planes.channels + channel;
      body(plane, count, planes.groups == 0 ? channel : plane);
    }
  });
}

/// Mean and sum of (x - mean)^2 of every plane.
struct PlaneMoments {
  Tensor memory;
  double *means, *squares;
  PlaneMoments(const Planes& planes, const Device& device)
      : memory(Tensor::empty({2, planes.count()}, DType::kFloat64, device)),
        means(memory.data<double>()),
        squares(means + planes.count()) {}
};

/// mean and rstd of every set. Planes are of equal size: the variance is the mean of theirs plus
/// that of their means.
template <class C>
void write_statistics(const Planes& planes, const PlaneMoments& of, double eps, const Tensor& mean,
                      const Tensor& rstd) {
  const std::int64_t sets = planes.sets();
  const Tensor memory = Tensor::empty({2, sets}, DType::kFloat64, mean.device());
  double* centres = memory.data<double>();
  double* variances = centres + sets;
  std::fill_n(centres, 2 * sets, 0.0);
  for (std::int64_t p = 0; p < planes.count(); ++p) centres[planes.set_of(p)] += of.means[p];
  const double n = planes.divisor();
  for (std::int64_t set = 0; set < sets; ++set) centres[set] /= n;
  for (std::int64_t p = 0; p < planes.count(); ++p) {
    const std::int64_t set = planes.set_of(p);
    const double apart = of.means[p] - centres[set];
    variances[set] += of.squares[p] / static_cast<double>(planes.size) + apart * apart;
  }
  for (std::int64_t set = 0; set < sets; ++set) {
    mean.data<C>()[set] = static_cast<C>(centres[set]);
    rstd.data<C>()[set] = static_cast<C>(1 / std::sqrt(variances[set] / n + eps));
  }
}

/// Sums of dz and of dz (x - mean) over every plane.
struct GradientSums {
  Tensor memory;
  double *sums, *products;
  GradientSums(const Planes& planes, const Device& device)
      : memory(Tensor::empty({2, planes.count()}, DType::kFloat64, device)),
        sums(memory.data<double>()),
        products(sums + planes.count()) {}
};

/// Gradients of weight and bias; null: not wanted.
template <class C>
void write_parameter_gradients(const Planes& planes, const GradientSums& of, const C* rstd,
                               C* dweight, C* dbias) {
  for (std::int64_t c = 0; c < planes.channels; ++c) {
    double weight = 0;
    double bias = 0;
    for (std::int64_t plane = c; plane < planes.count(); plane += planes.channels) {
      weight += of.products[plane] * static_cast<double>(rstd[planes.set_of(plane)]);
      bias += of.sums[plane];
    }
    if (dweight != nullptr) dweight[c] = static_cast<C>(weight);
    if (dbias != nullptr) dbias[c] = static_cast<C>(bias);
  }
}

/// With h = (x - mean) rstd and g = w dz: dx = rstd (g - mean(g) - h mean(g h)) over the set, which
/// is scale dz + by_x (x - mean) + constant. by_x and constant of all distinct planes.
template <class C>
void write_slopes(const Planes& planes, const GradientSums& of, const C* rstd, const C* weight,
                  const Tensor& slope) {
  const Tensor memory = Tensor::empty({2, planes.sets()}, DType::kFloat64, slope.device());
  double* mean_g = memory.data<double>();
  double* mean_gh = mean_g + planes.sets();
  std::fill_n(mean_g, 2 * planes.sets(), 0.0);
  for (std::int64_t plane = 0; plane < planes.count(); ++plane) {
    const std::int64_t set = planes.set_of(plane);
    const double w = weight != nullptr ? static_cast<double>(weight[plane % planes.channels]) : 1.0;
    mean_g[set] += w * of.sums[plane];
    mean_gh[set] += w * of.products[plane];
  }
  const std::int64_t count = planes.distinct();
  C* by_x = slope.data<C>();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t set = planes.set_of(i);
    const double scale = static_cast<double>(rstd[set]) / planes.elements_per_set();
    const double square = static_cast<double>(rstd[set]) * static_cast<double>(rstd[set]);
    by_x[i] = static_cast<C>(-scale * square * mean_gh[set]);
    by_x[count + i] = static_cast<C>(-scale * mean_g[set]);
  }
}

}  // namespace fovea::cpu
