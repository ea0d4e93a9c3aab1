#include "visualise/plots/matrix_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/drawing/colour_bar.h"
#include "visualise/drawing/painter.h"
#include "visualise/plots/plot_sizes.h"

namespace fovea::visualise {
namespace {

constexpr double kCellWidth = 44, kCellHeight = 22, kNumberSize = 10;
constexpr double kWidestRowName = 180, kWidestTitle = 480;

// Sizes in units of the figure, from the top left corner of the plot.
struct GridLayout {
  Rect cells;
  ColourBar bar;
  double bar_length = 0;
  double width = 0, height = 0;
};

void check_matrix(const MatrixPlot& plot) {
  FOVEA_CHECK(!plot.rows.empty() && !plot.columns.empty() &&
                  plot.values.size() == plot.rows.size() * plot.columns.size(),
              ShapeError,
              fmt::format("matrix plot: {} values for {} rows and {} columns; expected one for "
                          "each cell",
                          plot.values.size(), plot.rows.size(), plot.columns.size()));
}

double size_of_values(const MatrixPlot& plot) {
  double most = 0;
  for (const double value : plot.values)
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  return most;
}

ColourBar bar_of(const MatrixPlot& plot) {
  double most = plot.most > 0 ? plot.most : size_of_values(plot);
  if (!(most > 0)) most = 1;  // all are 0
  ColourBar bar;
  bar.map = plot.is_signed ? ColourMap::kDiverging : ColourMap::kReds;
  bar.low = plot.is_signed ? -most : 0;
  bar.high = most;
  bar.label = plot.quantity;
  return bar;
}

GridLayout layout_of(const MatrixPlot& plot) {
  GridLayout l;
  double names = 0;
  for (const std::string& name : plot.rows)
    names = std::max(names, text_width(fit_text(name, kTickSize, kWidestRowName), kTickSize));
  l.cells = {kPlotMargin + names + kPlotGap,
             kPlotMargin + kTitleSize + kPlotGap + kTickSize + kPlotGap,
             kCellWidth * static_cast<double>(plot.columns.size()),
             kCellHeight * static_cast<double>(plot.rows.size())};
  l.bar = bar_of(plot);
  l.bar_length = std::max(l.cells.h, colour_bar_least_length(l.bar, kTickSize, true));
  l.width = l.cells.right() + kPlotMargin +
            colour_bar_breadth(l.bar, l.bar_length, kTickSize, true) + kPlotMargin;
  const double title = text_width(plot.title, kTitleSize) + 2 * kPlotMargin;
  l.width = std::max(l.width, std::min(title, kWidestTitle));
  l.height = l.cells.y + l.bar_length + 2 * kPlotMargin;
  return l;
}

// Three digits of the largest value, as long as they fit a cell.
std::string number_in_cell(double value, double most) {
  if (most < 1e-3 || most >= 1e5) return fmt::format("{:.0e}", value);
  const auto decimals = 2 - static_cast<std::int64_t>(std::floor(std::log10(most)));
  return fmt::format("{:.{}f}", value, std::clamp<std::int64_t>(decimals, 0, 4));
}

void draw_matrix(const MatrixPlot& plot, const GridLayout& l, Point at, Painter& painter) {
  const Rect cells{at.x + l.cells.x, at.y + l.cells.y, l.cells.w, l.cells.h};
  painter.text({at.x + kPlotMargin, at.y + kPlotMargin + kTitleSize / 2},
               fit_text(plot.title, kTitleSize, l.width - 2 * kPlotMargin),
               {kTitleSize, kInk, Align::kLeft, false});
  for (std::size_t c = 0; c < plot.columns.size(); ++c) {
    const double x = cells.x + kCellWidth * (static_cast<double>(c) + 0.5);
    painter.text({x, cells.y - kPlotGap - kTickSize / 2},
                 fit_text(plot.columns[c], kTickSize, kCellWidth - 2),
                 {kTickSize, kInk, Align::kCentre, false});
  }
  for (std::size_t r = 0; r < plot.rows.size(); ++r) {
    const double y = cells.y + kCellHeight * static_cast<double>(r);
    painter.text({cells.x - kPlotGap, y + kCellHeight / 2},
                 fit_text(plot.rows[r], kTickSize, kWidestRowName),
                 {kTickSize, kInk, Align::kRight, false});
    for (std::size_t c = 0; c < plot.columns.size(); ++c) {
      const double value = plot.values[r * plot.columns.size() + c];
      const Colour colour = colour_of(l.bar.map, (value - l.bar.low) / (l.bar.high - l.bar.low));
      const Rect cell{cells.x + kCellWidth * static_cast<double>(c), y, kCellWidth, kCellHeight};
      painter.rectangle(cell, colour);
      if (std::isfinite(value))
        painter.text({cell.centre_x(), cell.centre_y()}, number_in_cell(value, l.bar.high),
                     {kNumberSize, readable_on(colour), Align::kCentre, false});
    }
  }
  painter.frame(cells, {kInk, 1, {}});
  draw_colour_bar(l.bar, {cells.right() + kPlotMargin, cells.y}, l.bar_length, kTickSize, true,
                  painter);
}

}  // namespace

double largest_size(std::span<const MatrixPlot> plots) {
  double most = 0;
  for (const MatrixPlot& plot : plots) most = std::max(most, size_of_values(plot));
  return most;
}

Canvas render(std::span<const MatrixPlot> plots, std::int64_t columns, double scale) {
  FOVEA_CHECK(!plots.empty() && columns >= 1, ConfigError,
              "matrix plot: expected at least one plot and one column");
  std::vector<GridLayout> layouts;
  double width = 0, height = 0;  // of a cell of the grid
  for (const MatrixPlot& plot : plots) {
    check_matrix(plot);
    layouts.push_back(layout_of(plot));
    width = std::max(width, layouts.back().width);
    height = std::max(height, layouts.back().height);
  }
  const std::int64_t count = std::ssize(plots), across = std::min(columns, count);
  const std::int64_t down = (count + across - 1) / across;
  Canvas canvas(std::llround(width * static_cast<double>(across) * scale),
                std::llround(height * static_cast<double>(down) * scale));
  CanvasPainter painter(canvas, scale);
  for (std::int64_t i = 0; i < count; ++i) {
    const Point at{width * static_cast<double>(i % across),
                   height * static_cast<double>(i / across)};
    const auto place = static_cast<std::size_t>(i);
    draw_matrix(plots[place], layouts[place], at, painter);
  }
  return canvas;
}

}  // namespace fovea::visualise
