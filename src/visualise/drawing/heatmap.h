// Heat maps from token weights (dgsa, section 9): patch grid, up-sampling, scaling, colours,
// overlay.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/drawing/colour_map.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// Token weights as a (rows, cols) grid, row by row. Throws ShapeError unless sizes agree.
Matrix as_grid(std::span<const double> weights, std::int64_t rows, std::int64_t cols);
/// The (height / patch, width / patch) grid of an image. Throws ShapeError if the image is not
/// square, `patch` does not divide it, or the number of weights is another.
Matrix patch_grid(std::span<const double> weights, std::int64_t height, std::int64_t width,
                  std::int64_t patch);

/// Bilinear up-sampling with half-pixel centres: source = (dst + 0.5) * n / m - 0.5, clamped to
/// [0, n - 1].
Matrix upsample_bilinear(const Matrix& grid, std::int64_t height, std::int64_t width);

/// A grid of patches at the size of the image: each patch a block, or `smooth` (upsample_bilinear).
Matrix heat_map(const Matrix& grid, std::int64_t height, std::int64_t width, bool smooth);

/// To [0, 1] over all values: (v - min) / (max - min), all 0 when max - min < 1e-12.
Matrix scale_minmax(const Matrix& values);
/// v / (2 max|v|) + 0.5, so that 0 is the middle of the colour map; all 0.5 when max|v| < 1e-12.
Matrix scale_symmetric(const Matrix& values);
/// To [0, 1] with given ends, those of a colour bar; values beyond are clamped, NaN stays NaN.
/// Throws ConfigError unless low < high.
Matrix scale_between(const Matrix& values, double low, double high);

/// Values in [0, 1] to colours, one pixel each.
Canvas colourise(const Matrix& values, ColourMap map);
/// Each pixel as a factor x factor block. Throws ConfigError for factor < 1.
Canvas enlarge(const Canvas& image, std::int64_t factor);
/// (1 - image_weight) * map + image_weight * image per channel, rounded half up. image_weight 0 is
/// the pure map. Throws ShapeError if the sizes differ, ConfigError for a weight outside [0, 1].
Canvas overlay(const Canvas& map, const Canvas& image, double image_weight);

}  // namespace fovea::visualise
