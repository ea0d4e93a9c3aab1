// Segmentations into several classes as pictures: a colour for each class on the image.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualise/canvas.h"

namespace fovea::visualise {

/// Of class k >= 1; class 0, the background, is shown without one. Classes 1 to 6 have those of the
/// palette (colour_map.h) but black, later ones lighter and darker shades of them.
Colour class_colour(std::int64_t k);

/// One row of a grid. image: (channels, height, width) in [0, 1]; truth and predicted: (height,
/// width) classes, below 0 where a pixel does not count.
struct Labelled {
  std::string label;
  std::vector<float> image;
  std::vector<std::int64_t> truth;
  std::vector<std::int64_t> predicted;
  std::int64_t channels = 3, height = 0, width = 0;
};

/// Columns: image, truth and prediction in colours over the image in grey, and where they differ
/// (the predicted colour on white). Pixels that do not count are grey. Below is what colours mean.
/// `factor` enlarges; 0 brings a picture to about 256 pixels. Throws ShapeError for no samples or
/// sizes that do not fit.
Canvas label_grid(const std::string& title, const std::vector<std::string>& classes,
                  const std::vector<Labelled>& samples, std::int64_t factor = 0);

}  // namespace fovea::visualise
