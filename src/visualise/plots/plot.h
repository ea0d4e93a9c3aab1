// Line plots: learning curves, points with names, several runs or metrics in one picture, with a
// band for the spread over seeds. As pixels and as SVG.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/drawing/painter.h"

namespace fovea::visualise {

/// One curve. A point whose x or y is not finite or beyond 1e150 (or, on a logarithmic axis, not
/// positive) leaves a gap.
struct Series {
  std::string name;  // in the legend; empty: not listed
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> band;  // empty, or the half width of the shaded area around y (a std)
  bool guide = false;        // a thin grey line to compare with, without dots
  /// Empty, or the name of each point, which stands beside it ("": none); no line joins these
  /// points.
  std::vector<std::string> labels = {};
  bool bars = false;                  // upright bars from 0 to y, 0.8 of x wide, instead of a line
  std::optional<Stroke> stroke = {};  // instead of that of its number
  bool dots = true;                   // at the points of a line of a few
  std::vector<double> areas = {};     // empty, or of each dot, in those of a common one; > 0
};

/// A line of a legend that several plots share.
struct LegendLine {
  std::string name;
  Stroke stroke;
};

struct LinePlot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
  bool log_x = false;
  bool log_y = false;
  std::optional<double> y_low;  // limits; otherwise from the data
  std::optional<double> y_high;
  double width = 560;  // in units of the figure
  double height = 360;
};

/// Draws a plot into `area`. Throws ShapeError if x, y and band of a series differ in length,
/// ConfigError for limits in the wrong order or not positive on a logarithmic axis.
void draw(const LinePlot& plot, const Rect& area, Painter& painter);

/// The plot as a picture of `scale` pixels per unit, or as an SVG document.
Canvas render(const LinePlot& plot, double scale = 2);
std::string to_svg(const LinePlot& plot);

/// Several plots in a grid, row by row; each cell has the size of the first plot. Below them is the
/// legend, in as many columns as its longest name lets it have. Throws ConfigError if there is no
/// plot or columns < 1.
Canvas render(std::span<const LinePlot> plots, std::int64_t columns, double scale = 2,
              std::span<const LegendLine> legend = {});
std::string to_svg(std::span<const LinePlot> plots, std::int64_t columns,
                   std::span<const LegendLine> legend = {});

/// Throws ConfigError unless a path ends in .png or .svg.
void check_plot_path(const std::filesystem::path& path);
/// The grid as what the ending of the path says. Throws as check_plot_path(), and FileError.
void write_plots(const std::filesystem::path& path, std::span<const LinePlot> plots,
                 std::int64_t columns, std::span<const LegendLine> legend = {});

}  // namespace fovea::visualise
