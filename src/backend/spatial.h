// Spatial axes brought to three (depth, height, width) by leading axes of size 1, so that every
// kernel over 1 to 3 axes is written once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tensor/shape.h"

namespace fovea {

using Axes = std::array<std::int64_t, 3>;

/// One value per spatial axis; `fill` stands for missing axes.
inline Axes three_axes(const std::vector<std::int64_t>& values, std::int64_t fill) {
  Axes axes{fill, fill, fill};
  std::copy(values.begin(), values.end(), axes.end() - static_cast<std::ptrdiff_t>(values.size()));
  return axes;
}

/// The sizes behind the first two axes of (b, c, spatial...).
inline Axes spatial_axes(const Shape& shape) {
  Axes axes{1, 1, 1};
  std::copy(shape.begin() + 2, shape.end(), axes.end() - (shape.rank() - 2));
  return axes;
}

inline std::int64_t product(const Axes& axes) { return axes[0] * axes[1] * axes[2]; }

/// Planes per piece so that a piece has some 16 thousand elements of work.
inline std::int64_t plane_grain(std::int64_t elements) {
  return std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(1, elements));
}

}  // namespace fovea
