// The bar that says which colour is which value.
#pragma once

#include <string>

#include "visualise/colour_map.h"
#include "visualise/painter.h"

namespace fovea::visualise {

/// Its ends, and 0 between them, always have a number.
struct ColourBar {
  ColourMap map = ColourMap::kPlasma;
  double low = 0;  // values at the two ends, low < high
  double high = 1;
  std::string label;  // what is shown; broken into lines where the bar is short
};

/// What a bar needs along its length, so that its numbers do not meet and no word of the label is
/// cut. Throws ConfigError unless low < high, both finite.
double colour_bar_least_length(const ColourBar& bar, double text_size, bool vertical);

/// What a bar needs across its length, with ticks and label: the width of a vertical bar (ticks to
/// its right), the height of a horizontal one (ticks below it). Throws like
/// colour_bar_least_length.
double colour_bar_breadth(const ColourBar& bar, double length, double text_size, bool vertical);

/// Draws a bar from (origin.x, origin.y), its top left corner, `length` long.
void draw_colour_bar(const ColourBar& bar, Point origin, double length, double text_size,
                     bool vertical, Painter& painter);

}  // namespace fovea::visualise
