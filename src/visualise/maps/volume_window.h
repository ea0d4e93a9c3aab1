// The part of a volume that a network is given at once.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensor/tensor.h"
#include "visualise/pages/case_volume.h"

namespace fovea::visualise {

/// A window of `sides` voxels around a voxel, moved to where it lies inside the volume. Along an
/// axis that is shorter than the window the volume lies in its middle, between zeros.
class VolumeWindow {
 public:
  VolumeWindow(const Sides3& voxel, const Sides3& size, const Sides3& sides);

  /// The window's first voxel in the volume; below 0 where zeros come first.
  const Sides3& first() const { return first_; }
  /// A voxel of the volume in the window.
  Sides3 inside(const Sides3& voxel) const;
  /// The window of (b, c, d, h, w).
  Tensor cut(const Tensor& volume) const;
  /// A window (b, c, sides) in its place of the volume, with zeros outside.
  Tensor put_back(const Tensor& window) const;

 private:
  Sides3 first_{};
  std::vector<std::pair<std::int64_t, std::int64_t>> amounts_;  // added on the way to the window
};

}  // namespace fovea::visualise
