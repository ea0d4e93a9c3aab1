#include "visualise/maps/volume_window.h"

#include <algorithm>

#include "ops/shape.h"

namespace fovea::visualise {

VolumeWindow::VolumeWindow(const Sides3& voxel, const Sides3& size, const Sides3& sides)
    : amounts_(2) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t more = sides[axis] - size[axis];
    first_[axis] =
        more >= 0 ? -(more / 2) : std::clamp<std::int64_t>(voxel[axis] - sides[axis] / 2, 0, -more);
    amounts_.emplace_back(-first_[axis], first_[axis] + more);
  }
}

Sides3 VolumeWindow::inside(const Sides3& voxel) const {
  return {voxel[0] - first_[0], voxel[1] - first_[1], voxel[2] - first_[2]};
}

Tensor VolumeWindow::cut(const Tensor& volume) const { return ops::pad(volume, amounts_); }

Tensor VolumeWindow::put_back(const Tensor& window) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> back;
  for (const auto& [before, after] : amounts_) back.emplace_back(-before, -after);
  return ops::pad(window, back);
}

}  // namespace fovea::visualise
