// One case of a segmentation of volumes as pictures need it, how it lies in its file and in the
// body, and slices of it in three orthogonal planes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/maps/heat_scale.h"

namespace fovea::visualise {

/// Depth, height, width.
using Sides3 = std::array<std::int64_t, 3>;

/// Where it is not known how a volume lies in the body, these are the planes across its first,
/// second and third axis.
enum class Plane { kAxial, kCoronal, kSagittal };
inline constexpr std::array<Plane, 3> kPlanes = {Plane::kAxial, Plane::kCoronal, Plane::kSagittal};

/// At which side of axial and coronal slices the patient's right is: at the left (as if seen from
/// the feet and from the front) or at the right. The front is at the left of sagittal slices.
enum class Convention { kRadiological, kNeurological };

/// How an axis of a volume lies in its file: voxel k at start + k step, in voxels along `axis` of
/// the file.
struct FileAxis {
  std::size_t axis = 0;   // slices, rows, columns
  std::int64_t size = 0;  // voxels of the file along it
  double start = 0;
  double step = 1;  // below 0 where the volume is mirrored
};
/// The file's voxel, from 0, in which the middle of voxel k lies.
std::int64_t file_index(const FileAxis& axis, std::int64_t k);

/// Values of all voxels that are laid over a case.
struct CaseMap {
  std::string name;           // "layers.0"
  std::string note;           // "8 x 8 x 8 tokens"; may be empty
  std::vector<float> values;  // as many as voxels
};

/// Voxels are (depth, height, width) row-major.
struct CaseVolume {
  std::string name;
  std::string run = {};   // whose prediction it is, where a page has several of a case
  std::string note = {};  // a line beside the case
  Sides3 size{};
  std::array<double, 3> spacing{1, 1, 1};  // of the voxels, in millimetres
  std::array<FileAxis, 3> file{};
  /// Where the axes point to in the body: a letter each of R or L, A or P, S or I; empty where that
  /// is not known.
  std::string codes;
  double tilt = 0;  // largest angle of an axis to the direction that its letter names, in degrees
  Convention convention = Convention::kRadiological;
  std::vector<float> values;
  std::string unit;  // of the values: "HU", or empty where they are those that a network sees
  Limits range;      // least and largest value that pages hold
  Limits window;     // black and white
  std::optional<Sides3> start = {};            // the voxel that pages begin with; none: the middle
  std::vector<std::uint8_t> truth, predicted;  // no truth of files of one's own
  std::vector<std::string> classes;            // the background first
  /// Regions of several classes, which are scored in place of these; the background first, too.
  std::vector<std::string> regions;
  std::vector<double> dice;  // of each class, or region, shares of 1; NaN: in neither; none
                             // without truth
  std::vector<CaseMap> maps;
  Quantity quantity;  // what these are, where there are any
};

inline bool has_truth(const CaseVolume& volume) { return !volume.truth.empty(); }

/// Throws ShapeError unless there are as many values, labels and map values as voxels, labels have
/// a class, all that is scored a Dice (nothing without truth), and the axes three different
/// directions (or none); ConfigError for spacings that are not above 0.
void check(const CaseVolume& volume);

/// Names of what is scored, as many as there are Dice.
const std::vector<std::string>& scored_names(const CaseVolume& volume);

/// How far voxel k along an axis is from the first voxel of the file, in millimetres.
double file_millimetres(const CaseVolume& volume, std::size_t axis, std::int64_t k);
/// The voxel of the volume in which a voxel of the file (slice, row, column) lies; nothing for one
/// outside the part of the file that the volume is made of.
std::optional<Sides3> voxel_of_file(const CaseVolume& volume, const Sides3& file_voxel);
/// The other way round: slice, row and column of the file.
Sides3 file_voxel_of(const CaseVolume& volume, const Sides3& voxel);
/// Voxels of the file: slices, rows, columns.
Sides3 file_size(const CaseVolume& volume);

/// Colours of a map run from -m to m or, of quantities without sign, from 0 to m, where m is the
/// largest size of a value, but at least 0.01: of what is even but for rounding nothing is seen.
double map_limit(std::span<const double> values);

/// How a slice of a plane is drawn: which axes of the volume its rows and columns follow, and what
/// of the body is at its edges.
struct PlaneAxes {
  std::string name;                          // "axial", or "across depth" where codes are empty
  std::size_t across = 0, row = 1, col = 2;  // axes
  bool rows_reversed = false;                // the first row is the last of its axis
  bool cols_reversed = false;
  /// A letter each, or empty.
  std::string top = {}, bottom = {}, left = {}, right = {};
};
PlaneAxes axes_of(const CaseVolume& volume, Plane plane);

/// Slice number `index` of a plane, (rows, cols) row-major.
template <class T>
std::vector<T> slice_of(std::span<const T> voxels, const Sides3& size, const PlaneAxes& axes,
                        std::int64_t index) {
  std::vector<T> slice;
  const std::int64_t rows = size[axes.row], cols = size[axes.col];
  slice.reserve(static_cast<std::size_t>(rows * cols));
  Sides3 at{};
  at[axes.across] = index;
  for (std::int64_t row = 0; row < rows; ++row) {
    at[axes.row] = axes.rows_reversed ? rows - 1 - row : row;
    for (std::int64_t col = 0; col < cols; ++col) {
      at[axes.col] = axes.cols_reversed ? cols - 1 - col : col;
      slice.push_back(
          voxels[static_cast<std::size_t>((at[0] * size[1] + at[1]) * size[2] + at[2])]);
    }
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
/// `error` must not be kNone.
Colour colour_of(VoxelError error);
std::string_view name_of(VoxelError error);

}  // namespace fovea::visualise
