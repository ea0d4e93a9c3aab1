// Which token looked at which: the lower triangle of a causal map, with its tokens along both
// sides.
#pragma once

#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/drawing/painter.h"
#include "visualise/maps/heat_scale.h"

namespace fovea::visualise {

struct TokenMatrix {
  std::string title;
  std::vector<std::string> tokens;  // rows look at columns
  std::vector<std::string> notes;   // behind each row; empty, or one each
  Matrix weights;                   // (tokens, tokens)
  Quantity quantity;
  double even = 0;
  HeatEnds ends = HeatEnds::kPercentiles;
  ColourMap sequential = kHeat;
  double factor = 2;  // pixels per unit
};

/// In units of the figure.
struct TokenMatrixLayout {
  Rect matrix;
  double cell = 0;
  std::size_t stride = 1;  // every how many tokens have room for their name
  double bar = 0;          // where the colour bar begins
  double bar_length = 0;
  double width = 0, height = 0;
};
/// Throws ShapeError where sizes do not fit, ConfigError for a factor outside [1, 8].
TokenMatrixLayout lay_out(const TokenMatrix& figure);

/// Weights of tokens that follow are not drawn, and a token's own does not count for the limits of
/// the colours. Throws as lay_out().
Canvas render(const TokenMatrix& figure);

}  // namespace fovea::visualise
