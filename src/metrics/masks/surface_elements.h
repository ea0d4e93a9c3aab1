// The surface of a mask as elements between its pixels: the lines of marching squares in a plane,
// the triangles of marching cubes in a volume. As DeepMind's surface-distance (Nikolov et al.,
// Clinically Applicable Segmentation of Head and Neck Anatomy, 2021).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/masks/distance_transform.h"

namespace fovea::metrics {

/// The size of the surface in a cell of 2 x 2 pixels (2 x 2 x 2 voxels), by which of its corners
/// are inside: bit 2 i + j (4 i + 2 j + k) of the index is corner (i, j) or (i, j, k). spacing: 2
/// or 3 numbers. A length or an area in units of the spacing.
std::vector<double> element_sizes(const std::vector<double>& spacing);

/// Normalised surface Dice (NSD): the share of both surfaces, by the size of their elements, that
/// lies at most `tolerance`, in units of the spacing, from the other surface. NaN where either mask
/// is empty. Throws ShapeError as check_grid, and for grids that are no planes or volumes.
double surface_dice(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                    const Grid& grid, double tolerance);

}  // namespace fovea::metrics
