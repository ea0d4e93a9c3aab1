#include "visualise/case_volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fovea::visualise {

std::string_view name_of(Plane plane) {
  switch (plane) {
    case Plane::kAxial:
      return "axial";
    case Plane::kCoronal:
      return "coronal";
    default:
      return "sagittal";
  }
}

void check(const CaseVolume& v) {
  const auto voxels = static_cast<std::size_t>(v.size[0] * v.size[1] * v.size[2]);
  FOVEA_CHECK(voxels > 0 && v.values.size() == voxels && v.truth.size() == voxels &&
                  v.predicted.size() == voxels,
              ShapeError,
              fmt::format("{}: {} values, {} and {} labels for {} x {} x {} voxels", v.name,
                          v.values.size(), v.truth.size(), v.predicted.size(), v.size[0], v.size[1],
                          v.size[2]));
  for (const CaseMap& map : v.maps)
    FOVEA_CHECK(map.values.size() == voxels, ShapeError,
                fmt::format("{}: map {} has {} values for {} voxels", v.name, map.name,
                            map.values.size(), voxels));
  const std::uint8_t last = std::max(*std::max_element(v.truth.begin(), v.truth.end()),
                                     *std::max_element(v.predicted.begin(), v.predicted.end()));
  FOVEA_CHECK(last < v.classes.size() && v.dice.size() == v.classes.size(), ShapeError,
              fmt::format("{}: label {}, and {} Dice, of {} classes", v.name, last, v.dice.size(),
                          v.classes.size()));
  for (const double spacing : v.spacing)
    FOVEA_CHECK(spacing > 0, ConfigError,
                fmt::format("{}: voxels of {} mm; expected above 0", v.name, spacing));
}

double map_limit(std::span<const double> values) {
  constexpr double kLeast = 0.01;
  double largest = kLeast;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

PlaneAxes axes_of(Plane plane) {
  switch (plane) {
    case Plane::kAxial:
      return {0, 1, 2, false};
    case Plane::kCoronal:
      return {1, 0, 2, true};
    default:
      return {2, 0, 1, true};
  }
}

std::uint8_t grey_of(float value, const Limits& window) {
  if (window.high <= window.low) return 0;
  const double share = (double{value} - window.low) / (window.high - window.low);
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
}

VoxelError error_of(std::uint8_t truth, std::uint8_t predicted) {
  if (truth == predicted) return VoxelError::kNone;
  if (truth == 0) return VoxelError::kFalsePositive;
  return predicted == 0 ? VoxelError::kFalseNegative : VoxelError::kWrongClass;
}

Colour colour_of(VoxelError error) {
  switch (error) {
    case VoxelError::kFalsePositive:
      return {220, 38, 127};
    case VoxelError::kFalseNegative:
      return {0, 168, 232};
    default:
      return {255, 176, 0};
  }
}

std::string_view name_of(VoxelError error) {
  switch (error) {
    case VoxelError::kFalsePositive:
      return "false positive";
    case VoxelError::kFalseNegative:
      return "false negative";
    case VoxelError::kWrongClass:
      return "wrong class";
    default:
      return "none";
  }
}

}  // namespace fovea::visualise
