#include "visualise/pages/case_volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fovea::visualise {

namespace {

// Opposite directions of the body, the one that is drawn at the top or the left first.
constexpr std::string_view kHeadToFeet = "SI", kFrontToBack = "AP", kRightToLeft = "RL";

PlaneAxes axes_in_body(const CaseVolume& v, Plane plane) {
  const auto along = [&](std::string_view direction) { return v.codes.find_first_of(direction); };
  std::string sideways(kRightToLeft);
  if (v.convention == Convention::kNeurological) std::swap(sideways[0], sideways[1]);
  std::string rows(kHeadToFeet), cols(sideways);
  PlaneAxes axes;
  if (plane == Plane::kAxial) {
    axes.name = "axial";
    axes.across = along(kHeadToFeet);
    rows = kFrontToBack;
  } else if (plane == Plane::kCoronal) {
    axes.name = "coronal";
    axes.across = along(kFrontToBack);
  } else {
    axes.name = "sagittal";
    axes.across = along(kRightToLeft);
    cols = kFrontToBack;
  }
  axes.row = along(rows);
  axes.col = along(cols);
  axes.rows_reversed = v.codes[axes.row] == rows[0];
  axes.cols_reversed = v.codes[axes.col] == cols[0];
  axes.top = rows[0];
  axes.bottom = rows[1];
  axes.left = cols[0];
  axes.right = cols[1];
  return axes;
}

}  // namespace

void check(const CaseVolume& v) {
  const auto voxels = static_cast<std::size_t>(v.size[0] * v.size[1] * v.size[2]);
  FOVEA_CHECK(voxels > 0 && v.values.size() == voxels && v.predicted.size() == voxels &&
                  (v.truth.size() == voxels || !has_truth(v)),
              ShapeError,
              fmt::format("{}: {} values, {} and {} labels for {} x {} x {} voxels", v.name,
                          v.values.size(), v.truth.size(), v.predicted.size(), v.size[0], v.size[1],
                          v.size[2]));
  for (const CaseMap& map : v.maps)
    FOVEA_CHECK(map.values.size() == voxels, ShapeError,
                fmt::format("{}: map {} has {} values for {} voxels", v.name, map.name,
                            map.values.size(), voxels));
  std::uint8_t last = *std::max_element(v.predicted.begin(), v.predicted.end());
  if (has_truth(v)) last = std::max(last, *std::max_element(v.truth.begin(), v.truth.end()));
  const std::size_t scored = has_truth(v) ? scored_names(v).size() : 0;
  FOVEA_CHECK(last < v.classes.size() && v.dice.size() == scored, ShapeError,
              fmt::format("{}: label {}, and {} Dice, of {} classes", v.name, last, v.dice.size(),
                          v.classes.size()));
  bool placed = v.codes.empty() || v.codes.size() == 3;
  for (const std::string_view direction : {kHeadToFeet, kFrontToBack, kRightToLeft})
    placed = placed && (v.codes.empty() || v.codes.find_first_of(direction) != std::string::npos);
  FOVEA_CHECK(placed, ShapeError,
              fmt::format("{}: axes point to {}; expected one of R and L, one of A and P, one of S "
                          "and I",
                          v.name, v.codes));
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

std::int64_t file_index(const FileAxis& axis, std::int64_t k) {
  const double place = axis.start + static_cast<double>(k) * axis.step;
  const auto nearest = static_cast<std::int64_t>(std::floor(place + 0.5));
  return std::clamp<std::int64_t>(nearest, 0, std::max<std::int64_t>(axis.size - 1, 0));
}

const std::vector<std::string>& scored_names(const CaseVolume& volume) {
  return volume.regions.empty() ? volume.classes : volume.regions;
}

double file_millimetres(const CaseVolume& v, std::size_t axis, std::int64_t k) {
  const FileAxis& file = v.file[axis];
  return (file.start + static_cast<double>(k) * file.step) * v.spacing[axis] / std::abs(file.step);
}

std::optional<Sides3> voxel_of_file(const CaseVolume& v, const Sides3& file_voxel) {
  constexpr double kRounding = 1e-9;  // a voxel's own middle must not fall out
  Sides3 voxel{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const FileAxis& file = v.file[axis];
    const double place = (static_cast<double>(file_voxel[file.axis]) - file.start) / file.step;
    voxel[axis] = static_cast<std::int64_t>(std::floor(place + 0.5 + kRounding));
    if (voxel[axis] < 0 || voxel[axis] >= v.size[axis]) return std::nullopt;
  }
  return voxel;
}

Sides3 file_voxel_of(const CaseVolume& v, const Sides3& voxel) {
  Sides3 result{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    result[v.file[axis].axis] = file_index(v.file[axis], voxel[axis]);
  return result;
}

Sides3 file_size(const CaseVolume& v) {
  Sides3 size{};
  for (const FileAxis& axis : v.file) size[axis.axis] = axis.size;
  return size;
}

PlaneAxes axes_of(const CaseVolume& v, Plane plane) {
  if (!v.codes.empty()) return axes_in_body(v, plane);
  switch (plane) {
    case Plane::kAxial:
      return {"across depth", 0, 1, 2};
    case Plane::kCoronal:
      return {"across height", 1, 0, 2, true};
    default:
      return {"across width", 2, 0, 1, true};
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
