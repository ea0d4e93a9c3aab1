// The bar that says which colour is which value.
#pragma once

#include <optional>
#include <string>

#include "visualise/drawing/colour_map.h"
#include "visualise/drawing/painter.h"

namespace fovea::visualise {

/// At most this many numbers stand along a bar, none over another.
inline constexpr std::size_t kMostBarTicks = 7;

/// Its ends, and 0 between them, always have a number; a line across the bar marks 0 and `mark`.
struct ColourBar {
  ColourMap map = ColourMap::kPlasma;
  double low = 0;  // values at the two ends, low < high
  double high = 1;
  std::string label;                // what is shown; broken into lines where the bar is short
  bool logarithmic = false;         // values between the ends lie by their logarithms; 0 < low
  std::optional<double> mark = {};  // a value that stands out
  std::string mark_name = {};       // beside it, among the numbers: "even"
  std::string mark_text = {};       // behind the label, also where the mark is beyond the ends
  std::string low_text = {},
              high_text = {};  // at the ends instead of numbers: then these stand alone
};

/// A number for a bar whose ends are `range` apart: three digits, more where the ends would look
/// alike, a proper minus, a power of ten for very small and large ones.
std::string bar_number(double value, double range);

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
