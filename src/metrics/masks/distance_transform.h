// Exact Euclidean distances on grids (Felzenszwalb and Huttenlocher, Distance Transforms of Sampled
// Functions, 2012).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fovea::metrics {

/// A plane (h, w), a volume (d, h, w), or any other number of axes, row-major.
struct Grid {
  std::vector<std::int64_t> size;
  std::vector<double> spacing = {};  // between pixels, one an axis, above 0; empty: 1 each

  std::int64_t pixels() const;
  double step(std::size_t axis) const { return spacing.empty() ? 1 : spacing[axis]; }
};

/// Throws ShapeError unless `values` fill the grid and its spacing fits.
void check_grid(std::size_t values, const Grid& grid);

/// The squared distance of every pixel to the nearest pixel where `mask` is not 0; infinity where
/// there is none. One pass for each axis, linear in the number of pixels. Throws ShapeError as
/// check_grid.
std::vector<double> squared_distances(std::span<const std::uint8_t> mask, const Grid& grid);

}  // namespace fovea::metrics
