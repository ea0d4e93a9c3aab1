// Segmentations of several networks beside the truth. gdla section 9, figures 4 and 5.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

/// Classes (height, width) on an image as figures show them: of one foreground the contours of the
/// truth and on it of the prediction, of those of them that there are; of several classes the
/// colours (label_overlay.h) of the prediction, or of the truth without one, half over the image in
/// grey. Pixels below 0 have no class.
struct ClassPicture {
  std::int64_t classes = 2;  // with the background
  std::int64_t thickness = 1;
  bool background = true;  // the first class is
};
Canvas picture_of_classes(const Canvas& image, std::span<const std::int64_t> truth,
                          std::span<const std::int64_t> predicted, const ClassPicture& look);

/// One image: its truth, and what each network makes of it.
struct PredictionRow {
  std::string name;
  Canvas image;
  std::vector<std::int64_t> truth;  // none of files of one's own
  std::vector<std::vector<std::int64_t>> predicted;
};

struct PredictionFigure {
  std::string title;
  std::vector<std::string> networks;
  std::vector<std::string> classes;  // names
  std::vector<PredictionRow> rows;
  std::int64_t thickness = 1;  // of contours, in pixels of the image
  std::int64_t factor = 1;     // enlargement
  bool background = true;      // the first class is
  std::int64_t boxes = 0;      // of each row, around what truth and networks do not label alike
};

/// The truth in the first column (the image where no row has one, nothing where another row has),
/// then a column for each network; below is what colours mean.
/// Throws ShapeError for no rows or sizes that do not fit.
Canvas render(const PredictionFigure& figure);

}  // namespace fovea::visualise
