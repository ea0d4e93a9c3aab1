// What batch and group norm move and scale the planes of a tensor by.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/simd/simd.h"

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
  double elements_per_set() const { return static_cast<double>(planes_per_set() * size); }
  std::int64_t set_of(std::int64_t plane) const {
    return groups == 0 ? plane % channels : plane / (channels / groups);
  }
  /// Planes that have numbers of their own: one of each channel, or all.
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
  /// `count` planes at x, `size` elements each; the first has the numbers of distinct plane
  /// `first`.
  template <class S>
  simd::NormPlanes<S> of(const S* x, std::int64_t first, std::int64_t count,
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

}  // namespace fovea::cpu
