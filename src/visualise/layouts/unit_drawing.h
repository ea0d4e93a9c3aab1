// Which tokens of a volume attend to each other: drawings of how a grid is cut into units. dformer
// 3.2, 8 (figure 3).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ops/attention/units.h"
#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

/// One way to cut the grid.
struct UnitRow {
  std::string name;  // "local"
  ops::Units units;  // on the host
};

struct UnitDrawing {
  std::string title;
  std::array<std::int64_t, 3> grid{};   // tokens: depth, height, width
  std::array<std::int64_t, 3> token{};  // whose unit stands out
  std::vector<UnitRow> rows;
  std::int64_t cell = 0;  // side of a token in pixels; 0: what makes a slice about 120 wide
};

/// Of every token the number of those it attends to together with: 0, 1, ... in the order of their
/// first tokens. Tokens of one unit whose regions differ, as in shifted windows, are apart.
std::vector<std::int64_t> unit_numbers(const ops::Units& units);

/// A row for each way, a column for each slice of the depth; tokens of a unit have one colour, pale
/// but for those of the chosen token's unit, and that token has a dot. Colours come again where
/// there are many units. Throws ShapeError for units of another grid, and a token outside it.
Canvas render(const UnitDrawing& drawing);

}  // namespace fovea::visualise
