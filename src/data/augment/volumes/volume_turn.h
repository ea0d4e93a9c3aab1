// Turning and scaling crops of volumes while training, and the room that takes. dformer 7.4.
#pragma once

#include <array>
#include <cstddef>
#include <numbers>

#include "data/volumes/volume_prepare.h"

namespace fovea::data {

/// A linear map from places in a crop to places in its volume, both from the middle: (d, h, w).
using CropMatrix = std::array<std::array<double, 3>, 3>;

inline constexpr double kMaxTurn = std::numbers::pi / 6;  // 30 degrees, where not in the plane
inline constexpr double kLeastScale = 0.7, kMostScale = 1.4;

/// Whether crops have so few slices that they are turned in their plane alone: longest side over
/// depth above 3.
bool turns_in_plane(const VolumeSides& size);

/// Where crops may lie: the size of the part that a crop is turned and scaled in, of which it is
/// the middle.
VolumeSides margin_size(const VolumeSides& size);

/// About an axis, in radians.
CropMatrix rotation(std::size_t axis, double angle);
CropMatrix product(const CropMatrix& a, const CropMatrix& b);

}  // namespace fovea::data
