// Segmentations into several classes as pictures: a colour for each class on the image.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

/// Of class k >= 1 behind the background, the same in every picture and page. Classes 1 to 6 have
/// those of the palette (colour_map.h) but black, later ones lighter and darker shades of them.
Colour class_colour(std::int64_t k);
/// A colour for each class, of which those before `first` (the background) are not drawn.
struct ClassColours {
  std::vector<Colour> of;
  std::int64_t first = 1;

  /// Throws ShapeError for a class that is not there.
  Colour operator[](std::int64_t k) const;
};
/// Those of all classes of a data set. The background has the colour of text; where no class is the
/// background, class k has class_colour(k + 1).
ClassColours class_colours(std::int64_t classes, bool background = true);

/// An image without its colours, so that only classes have some.
Canvas greyed(const Canvas& image);

/// Pixels of class k as floor(0.5 + (1 - share) image + share colours[k]); the background, and what
/// is below 0, stay. labels: (height, width). Throws ShapeError for another number of labels and
/// for classes without a colour.
Canvas tint_classes(const Canvas& image, std::span<const std::int64_t> labels,
                    const ClassColours& colours, double share);

/// A line below a picture says what colours mean, in as many lines as it needs.
struct LegendEntry {
  Colour colour;
  std::string text;
};
Canvas with_legend(const Canvas& picture, const std::vector<LegendEntry>& entries);

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
/// `background`: the first class is. `factor` enlarges; 0 brings a picture to about 256 pixels.
/// Throws ShapeError for no samples or sizes that do not fit.
Canvas label_grid(const std::string& title, const std::vector<std::string>& classes,
                  const std::vector<Labelled>& samples, std::int64_t factor = 0,
                  bool background = true);

}  // namespace fovea::visualise
