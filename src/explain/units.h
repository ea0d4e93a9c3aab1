// The units of an image that explanations weigh and scores remove: the blocks of a grid.
// explain 0.3, 0.6.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "explain/maps/token_map.h"

namespace fovea::explain {

/// The rows of a grid are those of an image from floor(i H / rows) on to below floor((i + 1) H /
/// rows), its columns likewise; units count row by row.
struct Units {
  std::int64_t rows = 0, cols = 0;     // of the grid
  std::int64_t height = 0, width = 0;  // of the image, in pixels

  /// Throws ConfigError unless 1 <= rows <= height and 1 <= cols <= width.
  Units(std::int64_t rows, std::int64_t cols, std::int64_t height, std::int64_t width);

  std::int64_t count() const { return rows * cols; }
  /// The unit of every pixel, (height, width).
  std::vector<std::int64_t> of_pixels() const;
  /// The sum over the pixels of each unit: (height, width) -> (rows, cols). Throws ShapeError
  /// unless there is a value for every pixel.
  std::vector<double> pooled(std::span<const double> pixels) const;
};

/// Blocks along a side of an image where a network has no grid of patches of one size.
inline constexpr std::int64_t kBlocks = 14;

/// The units of images of this size for a network with this grid of patches; where it has none of
/// one size (0 x 0), kBlocks x kBlocks equal blocks, or as many as there are pixels.
Units units_of(GridSize patches, GridSize image);

}  // namespace fovea::explain
