// The mapping of data to positions of one axis of a line plot, with its limits and ticks.
#pragma once

#include <cstdint>
#include <vector>

#include "visualise/drawing/ticks.h"
#include "visualise/plots/plot.h"

namespace fovea::visualise {

/// Maps [low, high] linearly, or by logarithm, onto [from, to].
struct Axis {
  double low = 0;
  double high = 1;
  bool log = false;
  double from = 0;
  double to = 1;

  double position(double value) const;
  /// True if the value has a position.
  bool shows(double value) const;
};

/// Limits from the data (for y with the bands and some room above and below), or those the plot
/// sets; [0, 1] (on a logarithmic axis [0.1, 1]) if there are no data.
Axis x_axis(const LinePlot& plot);
Axis y_axis(const LinePlot& plot);

/// True if every finite x is a whole number, as for epochs and steps.
bool has_whole_x(const LinePlot& plot);

/// As many labelled ticks as fit along `length` with labels of the given text size; for a vertical
/// axis labels need their height, not their width.
std::vector<Tick> fitting_ticks(const Axis& axis, double length, double text_size, bool vertical,
                                bool whole);

}  // namespace fovea::visualise
