// Segmentations as pictures: the outlines of truth and prediction on the image.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

// Outlines, gdla section 9, figure 5: the truth first, the prediction on top.
inline constexpr Colour kTruth{0, 255, 0};
inline constexpr Colour kPrediction{0, 0, 255};

/// Pixels of the foreground (at least `threshold`) of a mask (h, w) of which one of the four
/// neighbours is not, or is outside the image; for thickness t also all pixels less than t rows and
/// columns away from these. -> (h, w) of 0 and 1. Throws ShapeError if the sizes do not fit,
/// ConfigError for thickness < 1. gdla section 9.
std::vector<std::uint8_t> contour_of(std::span<const float> mask, std::int64_t height,
                                     std::int64_t width, std::int64_t thickness,
                                     float threshold = 0.5f);

/// Draws the contour of a mask (h, w) on a picture that shows every pixel as factor x factor ones;
/// it is that of the enlarged mask, `thickness` in pixels of the picture. Throws as contour_of().
void draw_contour(Canvas& canvas, std::span<const float> mask, std::int64_t height,
                  std::int64_t width, std::int64_t factor, Colour colour, std::int64_t thickness);

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
