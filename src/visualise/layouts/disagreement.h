// Where several segmentations of one picture differ: boxes around it. dformer 8, figure 4.
#pragma once

#include <cstdint>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/layouts/label_overlay.h"

namespace fovea::visualise {

/// Red, as in the paper's figure.
inline constexpr Colour kDifference{228, 26, 28};

/// Pixels of a picture.
struct PixelBox {
  std::int64_t row = 0, column = 0, height = 0, width = 0;
  bool operator==(const PixelBox&) const = default;
};

/// Boxes around the `count` largest regions of connected pixels (metrics::connected_components)
/// that the segmentations, each (height, width), do not all give the same class; the largest first,
/// of equal ones that with the first pixel. A pixel that is below 0 in one of them has no class and
/// is left out. Throws ShapeError for sizes that do not fit.
std::vector<PixelBox> disagreement_boxes(
    const std::vector<std::vector<std::int64_t>>& segmentations, std::int64_t height,
    std::int64_t width, std::int64_t count);

/// What the legend of a figure says of `count` boxes.
LegendEntry box_legend(std::int64_t count);
/// Frames a box a little outside of it, on a picture that is enlarged `factor` times afterwards.
void draw_box(Canvas& canvas, const PixelBox& box, std::int64_t factor = 1);

}  // namespace fovea::visualise
