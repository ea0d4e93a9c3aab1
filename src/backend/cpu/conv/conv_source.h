// The input of a convolution for its kernels: x itself, or relu(norm(x)) made in scratch memory a
// piece at a time, so that it is never written as a whole.
#pragma once

#include <optional>

#include "backend/cpu/channel_planes.h"
#include "backend/cpu/pieces.h"

namespace fovea::cpu {

template <class T>
class ConvSource {
 public:
  explicit ConvSource(const NormedMap& input)
      : x_(input.x.data<T>()),
        residual_(input.residual.defined() ? input.residual.data<T>() : nullptr),
        relu_(input.relu),
        planes_(input.x, 0) {
    if (input.norm.mean.defined()) numbers_.emplace(planes_, input.norm);
  }

  /// True if a piece needs scratch memory.
  bool made() const { return numbers_.has_value(); }
  /// The address of elements [begin, begin + n) of every plane of `count` items. Planes that were
  /// made are n apart.
  const T* items(std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t n,
                 T* scratch) const {
    const std::int64_t channels = planes_.channels;
    if (!made()) return x_ + first * channels * planes_.size + begin;
    for (std::int64_t i = 0; i < count; ++i)
      part(first + i, 0, channels, begin, n, scratch + i * channels * n);
    return scratch;
  }
  /// Elements [begin, begin + n) of `channels` planes of one item, a row each.
  Matrix<T> part(std::int64_t item, std::int64_t channel, std::int64_t channels, std::int64_t begin,
                 std::int64_t n, T* scratch) const {
    const std::int64_t at = (item * planes_.channels + channel) * planes_.size + begin;
    if (!made()) return {x_ + at, planes_.size};
    if (n == planes_.size) {
      make(at, channel, channels, n, scratch);
    } else {
      for (std::int64_t c = 0; c < channels; ++c)
        make(at + c * planes_.size, channel + c, 1, n, scratch + c * n);
    }
    return {scratch, n};
  }

 private:
  void make(std::int64_t at, std::int64_t channel, std::int64_t channels, std::int64_t n,
            T* to) const {
    simd::NormPlanes<T> planes = numbers_->planes_at(x_ + at, channel, channels, n);
    planes.residual = residual_ == nullptr ? nullptr : residual_ + at;
    planes.relu = relu_;
    simd::kernels().of<T>().plane_normalise(planes, to);
  }

  const T* x_;
  const T* residual_;
  bool relu_;
  Planes planes_;
  std::optional<PlaneNumbers<Compute<T>>> numbers_;
};

}  // namespace fovea::cpu
