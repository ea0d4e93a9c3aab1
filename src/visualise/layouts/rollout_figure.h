// The rollouts of several networks beside their inputs: "input | DGViT | DIFF ViT | ViT", a row for
// each image. dgsa section 9.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/maps/heat_scale.h"

namespace fovea::visualise {

/// One network: weights of the patches for every input, row by row of its grid.
struct RolloutColumn {
  HeatColumn heat;  // the name stands above
  std::int64_t grid_h = 0;
  std::int64_t grid_w = 0;
};

struct RolloutFigure {
  std::string title;
  std::vector<std::string> names;  // of the inputs
  std::vector<Canvas> inputs;
  std::vector<RolloutColumn> columns;
  HeatScale scale;
  ColourMap sequential = kHeat;  // of quantities without sign
  bool smooth = false;           // between patches, instead of a block for each
  double overlay = 0;            // share of the image in the picture
  std::int64_t factor = 1;       // enlargement
};

/// Below each column stands a bar with what is shown, its numbers at the ends and at 0, and the
/// even share; where every picture has limits of its own they stand below it. Limits are those of
/// the weights of patches, smooth or not. Throws ShapeError if there is no input or no column, or
/// sizes do not fit, and what limits_of throws.
Canvas render(const RolloutFigure& figure);

}  // namespace fovea::visualise
