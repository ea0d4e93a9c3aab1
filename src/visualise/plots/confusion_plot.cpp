#include "visualise/plots/confusion_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "visualise/drawing/colour_bar.h"
#include "visualise/drawing/painter.h"
#include "visualise/plots/plot_sizes.h"

namespace fovea::visualise {
namespace {

constexpr double kWidestName = 150;
constexpr std::int64_t kMostCounts = 15;  // classes up to which counts are written into the cells

ColourBar shares_bar() { return {ColourMap::kBlues, 0, 100, "share of the true class (%)"}; }

// Sizes in units of the figure.
struct MatrixLayout {
  std::int64_t classes = 0;
  std::int64_t label_stride = 1;  // every how many classes have room for a name
  double cell = 0;
  bool upright_names = false;  // column names turned by 90 degrees
  double names_height = 0;     // what the column names take below the matrix
  double bar_length = 0;
  std::vector<std::string> names;
  Rect matrix;
  double width = 0;
  double height = 0;
};

void check(const ConfusionPlot& plot) {
  const std::size_t n = plot.classes.size();
  FOVEA_CHECK(n >= 1 && plot.counts.size() == n * n, ShapeError,
              fmt::format("confusion plot: {} counts for {} classes; expected {}",
                          plot.counts.size(), n, n * n));
  FOVEA_CHECK(std::all_of(plot.counts.begin(), plot.counts.end(), [](auto c) { return c >= 0; }),
              NumericError, "confusion plot: a count is negative; expected counts >= 0");
}

MatrixLayout lay_out(const ConfusionPlot& plot) {
  MatrixLayout l;
  l.classes = std::ssize(plot.classes);
  l.cell = std::clamp(460.0 / static_cast<double>(l.classes), 4.0, 46.0);
  l.label_stride = static_cast<std::int64_t>(std::ceil((kTickSize + 2) / l.cell));
  double widest = 0;
  for (const std::string& name : plot.classes) {
    l.names.push_back(fit_text(name, kTickSize, kWidestName));
    widest = std::max(widest, text_width(l.names.back(), kTickSize));
  }
  l.upright_names = widest > l.cell - 4;
  const double side = l.cell * static_cast<double>(l.classes);
  l.matrix = {kPlotMargin + kLabelSize + kPlotGap + widest + kPlotGap,
              kPlotMargin + (plot.title.empty() ? 0 : kTitleSize + 1.5 * kPlotGap), side, side};
  l.names_height = l.upright_names ? widest : kTickSize;
  // With few classes the bar's label may be longer than the matrix is high.
  const ColourBar bar = shares_bar();
  l.bar_length = std::max(side, text_width(bar.label, kTickSize));
  const double axis_name = l.matrix.bottom() + kPlotGap + l.names_height + kPlotGap + kLabelSize;
  l.height = std::max(axis_name, l.matrix.y + l.bar_length) + kPlotMargin;
  l.width =
      l.matrix.right() + 3 * kPlotMargin + colour_bar_breadth(bar, l.bar_length, kTickSize, true);
  return l;
}

// Counts are written as large as the widest of them allows.
double count_size(const ConfusionPlot& plot, const MatrixLayout& l) {
  double widest = 0;
  for (const std::int64_t count : plot.counts) {
    widest = std::max(widest, text_width(fmt::format("{}", count), 1));
  }
  return std::min(kLabelSize, (l.cell - 5) / widest);
}

void draw_cells(const ConfusionPlot& plot, const MatrixLayout& l, Painter& painter) {
  constexpr double kSmallest = 7;  // text below this is not readable
  const double size = count_size(plot, l);
  const bool written = l.classes <= kMostCounts && size >= kSmallest;
  for (std::int64_t truth = 0; truth < l.classes; ++truth) {
    const auto row = plot.counts.begin() + truth * l.classes;
    double total = 0;
    for (std::int64_t i = 0; i < l.classes; ++i) total += static_cast<double>(row[i]);
    for (std::int64_t predicted = 0; predicted < l.classes; ++predicted) {
      const std::int64_t count = row[predicted];
      const double share =
          total > 0 ? static_cast<double>(count) / total : std::numeric_limits<double>::quiet_NaN();
      const Colour colour = colour_of(ColourMap::kBlues, share);
      const Rect cell{l.matrix.x + l.cell * static_cast<double>(predicted),
                      l.matrix.y + l.cell * static_cast<double>(truth), l.cell, l.cell};
      painter.rectangle(cell, colour);
      if (written) {
        painter.text({cell.centre_x(), cell.centre_y()}, fmt::format("{}", count),
                     {size, readable_on(colour), Align::kCentre, false});
      }
    }
  }
  painter.frame(l.matrix, {kInk, 1, {}});
}

void draw_names(const MatrixLayout& l, Painter& painter) {
  constexpr double kTick = 3;
  for (std::int64_t i = 0; i < l.classes; i += l.label_stride) {
    const double along = l.cell * (static_cast<double>(i) + 0.5);
    const std::string& name = l.names[static_cast<std::size_t>(i)];
    const Rect& m = l.matrix;
    const double x = m.x + along, y = m.y + along;
    painter.line(std::vector<Point>{{m.x - kTick, y}, {m.x, y}}, {});
    painter.line(std::vector<Point>{{x, m.bottom()}, {x, m.bottom() + kTick}}, {});
    painter.text({m.x - kPlotGap, y}, name, {kTickSize, kInk, Align::kRight, false});
    painter.text(
        {x, m.bottom() + kPlotGap + (l.upright_names ? 0 : kTickSize / 2)}, name,
        {kTickSize, kInk, l.upright_names ? Align::kRight : Align::kCentre, l.upright_names});
  }
}

void draw(const ConfusionPlot& plot, const MatrixLayout& l, Painter& painter) {
  draw_cells(plot, l, painter);
  draw_names(l, painter);
  const Rect& m = l.matrix;
  painter.text({kPlotMargin + kLabelSize / 2, m.centre_y()}, "true class",
               {kLabelSize, kInk, Align::kCentre, true});
  painter.text({m.centre_x(), m.bottom() + kPlotGap + l.names_height + kPlotGap + kLabelSize / 2},
               "predicted class", {kLabelSize, kInk, Align::kCentre, false});
  const std::string title = fit_text(plot.title, kTitleSize, l.width - 2 * kPlotMargin);
  const double half = text_width(title, kTitleSize) / 2 + kPlotMargin;
  painter.text(
      {std::max(half, std::min(m.centre_x(), l.width - half)), kPlotMargin + kTitleSize / 2}, title,
      {kTitleSize, kInk, Align::kCentre, false});
  draw_colour_bar(shares_bar(), {m.right() + 2 * kPlotMargin, m.y}, l.bar_length, kTickSize, true,
                  painter);
}

}  // namespace

Canvas render(const ConfusionPlot& plot, double scale) {
  check(plot);
  FOVEA_CHECK(scale > 0 && scale <= 16, ConfigError,
              fmt::format("confusion plot: scale is {}; expected a number in (0, 16]", scale));
  const MatrixLayout layout = lay_out(plot);
  Canvas canvas(std::llround(layout.width * scale), std::llround(layout.height * scale));
  CanvasPainter painter(canvas, scale);
  draw(plot, layout, painter);
  return canvas;
}

std::string to_svg(const ConfusionPlot& plot) {
  check(plot);
  const MatrixLayout layout = lay_out(plot);
  SvgPainter painter;
  draw(plot, layout, painter);
  return painter.document(layout.width, layout.height);
}

}  // namespace fovea::visualise
