// How far the borders of two masks are from each other. gdla 7, as medpy with connectivity 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/masks/distance_transform.h"

namespace fovea::metrics {

/// The border of a mask: 1 where a pixel is not 0 and a neighbour along an axis (4 in a plane, 6 in
/// a volume) is 0 or outside of the grid, else 0. Throws ShapeError as check_grid.
std::vector<std::uint8_t> border_of(std::span<const std::uint8_t> mask, const Grid& grid);

/// From every pixel of each mask's border the distance to the nearest of the other's, in units of
/// the spacing: first those from `a`, then those from `b`. Nothing where either mask is empty.
/// Throws ShapeError as check_grid.
std::vector<double> surface_distances(std::span<const std::uint8_t> a,
                                      std::span<const std::uint8_t> b, const Grid& grid);

/// The value at rank share (n - 1) of n sorted values, linear between ranks; NaN without values.
/// share: 0 to 1.
double quantile(std::vector<double> values, double share);

inline constexpr double kHd95Share = 0.95;

/// The 95th percentile, and the largest, of surface_distances() in both directions together. NaN
/// where either mask is empty.
double hd95(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, const Grid& grid);
double hausdorff(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                 const Grid& grid);

}  // namespace fovea::metrics
