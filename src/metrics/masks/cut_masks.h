// Two masks without the empty rim around both of them, which is often most of an image.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/masks/distance_transform.h"

namespace fovea::metrics {

/// The smallest box that holds both masks, which are not both empty. Borders and their distances
/// stay the same, since outside of a grid nothing is in a mask.
struct CutMasks {
  Grid grid;
  std::vector<std::uint8_t> a, b;
};
CutMasks cut_masks(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                   const Grid& grid);

bool is_empty(std::span<const std::uint8_t> mask);

}  // namespace fovea::metrics
