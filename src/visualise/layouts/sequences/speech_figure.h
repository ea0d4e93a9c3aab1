// A recording as a network hears it, over one axis of time: its features, the symbols and when they
// are said, and where the frame of every symbol looks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/drawing/painter.h"
#include "visualise/maps/heat_scale.h"

namespace fovea::visualise {

/// Columns of a picture at equal distances of time: the middle of the first, and the distance, in
/// seconds.
struct TimeGrid {
  double first = 0, step = 0;
  double middle(std::int64_t i) const { return first + static_cast<double>(i) * step; }
};

/// A symbol from the beginning of its first frame to the end of its last.
struct TimedSymbol {
  std::string text;
  double begin = 0, end = 0;  // seconds
  double peak = 0;            // where it is most probable
};

struct SpeechFigure {
  std::string title;
  std::vector<std::string> lines;  // below the title, broken where they are long
  double seconds = 0;              // of the recording

  Matrix features;  // (frames, bands), from the lowest band on
  TimeGrid frames;
  std::vector<double> hertz;  // the middle of every band
  std::string features_name;  // of their colour bar

  std::vector<TimedSymbol> heard,
      said;              // of the best path; of the truth, empty where there is none
  Matrix probabilities;  // (tokens, symbols)
  TimeGrid tokens;
  std::int64_t blank = 0;

  Matrix looks;  // (heard, tokens): where the frame of each symbol looks; empty without attention
  Quantity quantity;
  double even = 0;  // even_share() of them
  HeatEnds ends = HeatEnds::kPercentiles;
  ColourMap sequential = kHeat;
  double factor = 2;  // pixels per unit
};

/// Where the parts lie, in units of the figure. A part that is not drawn has no height.
struct SpeechLayout {
  double width = 0, height = 0;
  std::vector<std::string> lines;  // as they are drawn
  Rect features, probabilities, said, looks;
  double row = 0;   // height of a row of `looks`
  double bars = 0;  // where colour bars begin
  double x_of(double second) const;
  double seconds = 0;
};
/// Throws ShapeError where sizes do not fit, ConfigError for a factor outside [1, 8].
SpeechLayout lay_out(const SpeechFigure& figure);

/// From top to bottom: features over Hz, colours from the 1st to the 99th percentile; probabilities
/// of the symbols that were heard, each above its frames, and of blanks in grey; when the symbols
/// of the truth are said by the likeliest path; and a row for every symbol that was heard, with a
/// frame around its own token, whose weight does not count for the limits of the colours. Throws
/// as lay_out().
Canvas render(const SpeechFigure& figure);

}  // namespace fovea::visualise
