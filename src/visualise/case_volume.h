// One case of a segmentation of volumes as pictures need it, and slices of it in three orthogonal
// planes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "visualise/canvas.h"
#include "visualise/heat_scale.h"

namespace fovea::visualise {

/// Depth, height, width.
using Sides3 = std::array<std::int64_t, 3>;

/// Planes across the depth, the height and the width, named as if these axes of the file were feet
/// to head, front to back and side to side.
enum class Plane { kAxial, kCoronal, kSagittal };
inline constexpr std::array<Plane, 3> kPlanes = {Plane::kAxial, Plane::kCoronal, Plane::kSagittal};
std::string_view name_of(Plane plane);

/// Values of all voxels that are laid over a case.
struct CaseMap {
  std::string name;           // "layers.0"
  std::string note;           // "8 x 8 x 8 tokens"; may be empty
  std::vector<float> values;  // as many as voxels
};

/// Voxels are (depth, height, width) row-major.
struct CaseVolume {
  std::string name;
  Sides3 size{};
  std::array<double, 3> spacing{1, 1, 1};  // of the voxels, in millimetres
  std::array<double, 3> origin{};  // middle of the first voxel from that of the file's, in mm
  std::vector<float> values;
  Limits window;  // black and white
  std::vector<std::uint8_t> truth, predicted;
  std::vector<std::string> classes;  // the background first
  std::vector<double> dice;          // of each class, shares of 1; NaN: in neither
  std::vector<CaseMap> maps;
  Quantity quantity;  // what these are, where there are any
};

/// Throws ShapeError unless there are as many values, labels and map values as voxels, labels have
/// a class, and every class a Dice; ConfigError for spacings that are not above 0.
void check(const CaseVolume& volume);

/// Colours of a map run from -m to m or, of quantities without sign, from 0 to m, where m is the
/// largest size of a value, but at least 0.01: of what is even but for rounding nothing is seen.
double map_limit(std::span<const double> values);

/// How a plane lies in a volume. In planes with depth along their rows the last slice is at the
/// top.
struct PlaneAxes {
  std::size_t across = 0, row = 1, col = 2;  // axes
  bool upwards = false;                      // rows begin with the last of their axis
};
PlaneAxes axes_of(Plane plane);

/// Slice number `index` of a plane, (rows, cols) row-major.
template <class T>
std::vector<T> slice_of(std::span<const T> voxels, const Sides3& size, Plane plane,
                        std::int64_t index) {
  const PlaneAxes axes = axes_of(plane);
  std::vector<T> slice;
  slice.reserve(static_cast<std::size_t>(size[axes.row] * size[axes.col]));
  Sides3 at{};
  at[axes.across] = index;
  for (std::int64_t row = 0; row < size[axes.row]; ++row) {
    at[axes.row] = axes.upwards ? size[axes.row] - 1 - row : row;
    for (at[axes.col] = 0; at[axes.col] < size[axes.col]; ++at[axes.col])
      slice.push_back(
          voxels[static_cast<std::size_t>((at[0] * size[1] + at[1]) * size[2] + at[2])]);
  }
  return slice;
}

/// 0 for values up to the window's low end, 255 from its high end on, rounded between.
std::uint8_t grey_of(float value, const Limits& window);

/// Where a voxel's prediction is wrong.
enum class VoxelError : std::uint8_t {
  kNone,
  kFalsePositive,  // a class where the truth has background
  kFalseNegative,  // background where the truth has a class
  kWrongClass,     // another class than the truth
};
VoxelError error_of(std::uint8_t truth, std::uint8_t predicted);
/// Of one that is not kNone.
Colour colour_of(VoxelError error);
std::string_view name_of(VoxelError error);

}  // namespace fovea::visualise
