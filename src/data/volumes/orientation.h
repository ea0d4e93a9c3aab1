// How the axes of a volume lie in the body, and turning a volume to the axes of most tools: from
// left to right, from back to front, from foot to head ("RAS+").
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/volumes/volume_prepare.h"

namespace fovea::data {

/// Place of voxel (i, j, k) in millimetres: row r is axis r of the world (to the right, to the
/// front, upwards), columns are steps along i (columns), j (rows), k (slices), and the place of the
/// first voxel.
using Affine = std::array<std::array<double, 4>, 3>;

/// The directions of i, j and k, one letter each: R or L, A or P, S or I. Throws FileError starting
/// with `name` for an affine that is not finite or has no inverse.
std::string axis_codes(const Affine& affine, std::string_view name);

/// Exchanging and mirroring axes (d, h, w), which loses nothing.
struct Turn {
  std::array<std::size_t, 3> from = {0, 1, 2};  // which axis of the file becomes each
  std::array<bool, 3> mirrored = {};            // it runs against the file's

  bool operator==(const Turn&) const = default;
};
/// Turns w, h, d as close to right, front, up as exchanging and mirroring can:
/// nibabel.as_closest_canonical of version 5.4. Throws as axis_codes() does.
Turn turn_to_ras(const Affine& affine, std::string_view name);

/// Values for each axis of the file, in the order of the turned axes.
template <class T>
std::array<T, 3> turned(const std::array<T, 3>& of, const Turn& turn) {
  return {of[turn.from[0]], of[turn.from[1]], of[turn.from[2]]};
}
/// The affine of a volume of `file` voxels (d, h, w) once it is turned.
Affine turned(const Affine& affine, const VolumeSides& file, const Turn& turn);
/// Turns the axes of maps (any, file). T: float or uint8.
template <class T>
std::vector<T> turned(std::span<const T> maps, const VolumeSides& file, const Turn& turn);
/// The inverse: `maps` have the turned axes, the result is (any, file).
template <class T>
std::vector<T> turned_back(std::span<const T> maps, const VolumeSides& file, const Turn& turn);

}  // namespace fovea::data
