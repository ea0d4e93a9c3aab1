// Connected components of a mask.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/masks/distance_transform.h"

namespace fovea::metrics {

/// For every pixel the number of its component, from 1, in the order of their first pixels; 0
/// outside of the mask. Pixels that touch at a side, an edge or a corner are connected (8
/// neighbours in a plane, 26 in a volume), as in scikit-image's label().
struct Components {
  std::vector<std::int32_t> of_pixel;
  std::int32_t count = 0;

  /// Pixels of each component; [0] is 0.
  std::vector<std::int64_t> sizes() const;
};
/// Throws ShapeError as check_grid, and for more pixels than an int32 counts.
Components connected_components(std::span<const std::uint8_t> mask, const Grid& grid);

}  // namespace fovea::metrics
