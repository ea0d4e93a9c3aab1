// A confusion matrix as a picture: rows are the truth, columns the prediction, colours the share of
// each true class (rows sum to 100 %), numbers the counts where cells have room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

struct ConfusionPlot {
  std::string title;
  std::vector<std::string> classes;  // one name per class
  std::vector<std::int64_t> counts;  // (classes, classes) row-major, >= 0; row = truth
};

/// Classes without samples have a grey row. Throws ShapeError unless there is at least one class
/// and counts has classes^2 entries, NumericError for negative counts.
Canvas render(const ConfusionPlot& plot, double scale = 2);
std::string to_svg(const ConfusionPlot& plot);

}  // namespace fovea::visualise
