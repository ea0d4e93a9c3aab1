// Pictures in a labelled grid: "input | DGViT | DIFF ViT | ViT" side by side, or the maps of every
// layer and head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/drawing/colour_bar.h"

namespace fovea::visualise {

/// A colour bar to the right of rows first .. first + count - 1, or below these columns.
struct MontageBar {
  enum class Side { kRight, kBelow };
  ColourBar bar;
  Side side = Side::kRight;
  std::int64_t first = 0;
  std::int64_t count = 0;  // 0: all from `first` on
};

/// A bar below `count` columns, or all, from `first` on.
MontageBar bar_below(ColourBar bar, std::int64_t first, std::int64_t count = 0);

struct Montage {
  std::string title;
  std::vector<std::string> column_labels;  // empty, or one per column; may be broken into lines
  std::vector<std::string> row_labels;     // empty, or one per row
  std::vector<std::vector<Canvas>> rows;   // pictures of any size; one without pixels is a hole
  std::vector<std::vector<std::string>> captions;  // below pictures; empty, or a list for each row
  std::vector<MontageBar> bars;                    // on each side they must not overlap
  std::int64_t factor = 4;                         // enlargement of the pictures, nearest neighbour
  double text_size = 13;
};

/// Throws ShapeError if there is no picture or labels or captions do not fit the grid, ConfigError
/// for factor < 1, a text size outside [6, 100] or bars that overlap or lie outside the grid.
Canvas render(const Montage& montage);

}  // namespace fovea::visualise
