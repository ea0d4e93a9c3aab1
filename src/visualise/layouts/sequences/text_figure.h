// Texts with every token on the colour of its weight, networks side by side (dgsa, Fig. 3).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/maps/heat_scale.h"

namespace fovea::visualise {

/// One network's view of a text.
struct TextPanel {
  std::string name;
  std::vector<std::string> tokens;
  std::vector<double> weights;            // one for each token, e.g. mean_row of a rollout
  Quantity quantity;                      // what they are
  double even = 0;                        // even_share() of them
  std::vector<std::size_t> unknown = {};  // ascending places of tokens that no
                                          // vocabulary has
  std::int64_t cut = 0;                   // tokens behind the last, which the network does not read
};

struct TextFigure {
  std::string title;
  std::vector<TextPanel> panels;  // left to right, in rows of at most `columns`
  std::int64_t columns = 4;
  HeatScale scale;
  ColourMap sequential = kHeat;  // of quantities without sign
  double column_width = 300;     // of a panel
  double text_size = 13;
  double factor = 2;  // pixels per unit of these sizes
};

/// Tokens flow into lines of the column's width; a token that holds a line break ends its line, one
/// that is wider than a line is cut with an ellipsis. A colour bar with the panel's own numbers
/// stands below each. Unknown tokens are underlined with dots; how many they are, and how many were
/// cut, is said below the text. Control characters are drawn as symbols. Letters come from DejaVu
/// Sans from left to right and unjoined: right-to-left scripts are better read in the explorer.
/// Throws ShapeError if there is no panel or column or weights do not fit tokens, ConfigError for a
/// column narrower than 4 text sizes, a text size outside [6, 100] or a factor outside [1, 8], and
/// what limits_of throws.
Canvas render(const TextFigure& figure);

/// A token as pictures show it: line breaks and control characters as symbols, the empty token as
/// an empty set, spaces at its ends as dots.
std::string visible_token(std::string_view token);

}  // namespace fovea::visualise
