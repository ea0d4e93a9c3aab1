// Segmentations as pictures: the outlines of truth and prediction on the image.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "visualise/canvas.h"

namespace fovea::visualise {

inline constexpr Colour kTruth{255, 214, 0};       // yellow: apart from blue for every eye
inline constexpr Colour kPrediction{0, 120, 255};  // blue

/// Draws the edges between foreground (at least `threshold`) and background pixels of a mask (h,
/// w), the border of the image included, on a picture that shows every pixel as factor x factor
/// ones. Lines are `thickness` pixels of the canvas wide, centred on the edge. Throws ShapeError if
/// the sizes do not fit.
void draw_outline(Canvas& canvas, std::span<const float> mask, std::int64_t height,
                  std::int64_t width, std::int64_t factor, Colour colour, std::int64_t thickness,
                  float threshold = 0.5f);

/// One row of an overlay grid. image: (channels, height, width) in [0, 1]; truth and prob: (height,
/// width).
struct Segmented {
  std::string label;
  std::vector<float> image;
  std::vector<float> truth;
  std::vector<float> prob;
  std::int64_t channels = 3, height = 0, width = 0;
};

/// Columns: image, the outlines of truth and prediction, the probability. `factor` enlarges; 0
/// brings a picture to about 256 pixels. Throws ShapeError for no samples or sizes that do not fit.
Canvas overlay_grid(const std::string& title, const std::vector<Segmented>& samples,
                    std::int64_t factor = 0);

}  // namespace fovea::visualise
