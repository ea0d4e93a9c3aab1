// Names beside the points of a plot, kept apart from each other.
#pragma once

#include <string>
#include <vector>

#include "visualise/drawing/painter.h"

namespace fovea::visualise {

struct NamedPoint {
  Point at;
  std::string name;     // empty: none
  double radius = 2.8;  // of its dot
};

/// Draws every name beside its point: to the right, left, above, below or at a corner, where it
/// covers the least of other points, of names before it, of `taken` and of what is outside `inner`;
/// further off, with a thin line to its point, where all of these are crowded.
void draw_names(const std::vector<NamedPoint>& points, const Rect& inner, const Rect& taken,
                Painter& painter);

}  // namespace fovea::visualise
