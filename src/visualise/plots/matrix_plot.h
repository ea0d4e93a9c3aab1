// Tables of numbers as pictures: layers by heads, a colour for each cell.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

struct MatrixPlot {
  std::string title;
  std::string quantity;  // beside the bar of colours
  std::vector<std::string> rows, columns;
  std::vector<double> values;  // (rows, columns) row-major; NaN: an empty cell, which is grey
  /// Values that may be negative have 0 in the middle of their colours.
  bool is_signed = true;
  /// The largest size of a value, at the end of the bar; 0: that of the values.
  double most = 0;
};

/// The largest size of the values of plots that share their colours.
double largest_size(std::span<const MatrixPlot> plots);

/// The plots in a grid, row by row; numbers stand in the cells. Throws ShapeError unless there is a
/// value for every cell, and ConfigError without a plot and for columns < 1.
Canvas render(std::span<const MatrixPlot> plots, std::int64_t columns, double scale = 2);

}  // namespace fovea::visualise
