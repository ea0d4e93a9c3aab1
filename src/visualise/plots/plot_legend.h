// The legend of a line plot: inside the axes in the emptiest corner, or to their right where every
// corner is crossed by a curve.
#pragma once

#include <span>
#include <vector>

#include "visualise/plots/plot.h"

namespace fovea::visualise {

/// Colour and dashes of the i-th series: seven colours, then the same colours dashed; grey dashes
/// for a guide, dots for a guide that follows one.
Stroke series_stroke(const LinePlot& plot, std::size_t i);

struct Legend {
  Rect box;  // width 0: no series has a name
  bool outside = false;
};

/// `lines` are the curves in figure units, `inner` the area between the axes.
Legend make_legend(const LinePlot& plot, const Rect& inner,
                   std::span<const std::vector<Point>> lines);
void draw_legend(const LinePlot& plot, const Legend& legend, Painter& painter);

/// The height of a legend below plots that take `width`; 0 for an empty one.
double shared_legend_height(std::span<const LegendLine> legend, double width);
/// Draws it below `plots`.
void draw_shared_legend(std::span<const LegendLine> legend, const Rect& plots, Painter& painter);

}  // namespace fovea::visualise
