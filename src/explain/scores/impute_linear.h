// Removed pixels from those around them, as ROAD wants it (Rong et al., A consistent and efficient
// evaluation strategy for attribution methods, ICML 2022). explain B.7.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "explain/questions.h"

namespace fovea::explain {

/// Every removed pixel i becomes the weighted mean of its neighbours j inside the image:
///   sum_j w_ij (u_i - u_j) = 0,   w = 1/6 for neighbours at an edge, 1/12 at a corner,
/// u_j known where a pixel is kept. Channel by channel, by conjugate gradients in float64. Where
/// all are removed, they become 0. removed: (height, width), not 0 = removed. Throws ShapeError
/// unless there is one for every pixel.
void impute_linear(Image& image, std::span<const std::uint8_t> removed);

/// Adds scale * noise to the removed pixels; noise: (channels, height, width).
void add_noise(Image& image, std::span<const std::uint8_t> removed, std::span<const double> noise,
               double scale);

}  // namespace fovea::explain
