#include "visualise/plots/plot_legend.h"

#include <algorithm>
#include <cmath>

#include "visualise/drawing/colour_map.h"
#include "visualise/plots/plot_sizes.h"

namespace fovea::visualise {
namespace {

constexpr double kRow = 17;
constexpr double kSample = 22;  // length of the line beside a name
constexpr double kPad = 7;
constexpr Colour kGuide{130, 130, 130};

// Longer names are cut, so that a legend outside leaves room for the curves.
double widest_name(const LinePlot& plot) { return std::min(230.0, 0.4 * plot.width); }

// How many points, 2 units apart on the curves, lie in the box.
int crossings(const Rect& box, std::span<const std::vector<Point>> lines) {
  int count = 0;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      const Point a = line[i], b = line[i + 1];
      const int steps = static_cast<int>(std::hypot(b.x - a.x, b.y - a.y) / 2) + 1;
      for (int k = 0; k <= steps; ++k) {
        const double t = static_cast<double>(k) / steps;
        const double x = a.x + t * (b.x - a.x), y = a.y + t * (b.y - a.y);
        if (x >= box.x && x <= box.right() && y >= box.y && y <= box.bottom()) ++count;
      }
    }
  }
  return count;
}

// The cells of a legend below plots.
struct SharedLegend {
  double column = 0;  // width of one
  std::size_t columns = 1, rows = 0;
};

SharedLegend lay_out_shared(std::span<const LegendLine> legend, double width) {
  SharedLegend cells;
  for (const LegendLine& line : legend)
    cells.column = std::max(cells.column, text_width(line.name, kTickSize) + kSample + 4 * kPad);
  cells.column = std::min(cells.column, width);
  if (legend.empty()) return cells;
  cells.columns = std::max<std::size_t>(1, static_cast<std::size_t>(width / cells.column));
  cells.columns = std::min(cells.columns, legend.size());
  cells.rows = (legend.size() + cells.columns - 1) / cells.columns;
  return cells;
}

}  // namespace

Stroke series_stroke(const LinePlot& plot, std::size_t i) {
  constexpr std::size_t kColours = 7;
  if (plot.series[i].stroke) return *plot.series[i].stroke;
  if (plot.series[i].guide) {
    const bool second = i > 0 && plot.series[i - 1].guide;
    return {kGuide, 1.2, second ? std::vector<double>{1.5, 3.5} : std::vector<double>{6, 4}};
  }
  Stroke stroke{palette_colour(static_cast<std::int64_t>(i)), 1.8, {}};
  if (i / kColours % 3 == 1) stroke.dash = {6, 4};
  if (i / kColours % 3 == 2) stroke.dash = {1.5, 3.5};
  return stroke;
}

Legend make_legend(const LinePlot& plot, const Rect& inner,
                   std::span<const std::vector<Point>> lines) {
  constexpr double kInset = 6;
  Legend legend;
  for (const Series& series : plot.series) {
    if (series.name.empty()) continue;
    const double name = std::min(widest_name(plot), text_width(series.name, kTickSize));
    legend.box.w = std::max(legend.box.w, name + kSample + 3 * kPad);
    legend.box.h += kRow;
  }
  if (legend.box.w == 0) return legend;
  legend.box.h += kPad;
  legend.outside = true;
  if (legend.box.w > 0.6 * inner.w || legend.box.h > 0.7 * inner.h) return legend;
  const double left = inner.x + kInset, right = inner.right() - kInset - legend.box.w;
  const double top = inner.y + kInset, bottom = inner.bottom() - kInset - legend.box.h;
  for (const Point corner :
       {Point{right, top}, Point{right, bottom}, Point{left, top}, Point{left, bottom}}) {
    const Rect box{corner.x, corner.y, legend.box.w, legend.box.h};
    if (crossings({box.x - 3, box.y - 3, box.w + 6, box.h + 6}, lines) == 0) return {box, false};
  }
  return legend;
}

void draw_legend(const LinePlot& plot, const Legend& legend, Painter& painter) {
  if (legend.box.w == 0) return;
  if (!legend.outside) {
    painter.rectangle(legend.box, kWhite);
    painter.frame(legend.box, {kMissing, 0.8, {}});
  }
  double y = legend.box.y + kPad / 2 + kRow / 2;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    if (plot.series[i].name.empty()) continue;
    const double x = legend.box.x + kPad;
    painter.line(std::vector<Point>{{x, y}, {x + kSample, y}}, series_stroke(plot, i));
    painter.text({x + kSample + kPad, y},
                 fit_text(plot.series[i].name, kTickSize, widest_name(plot)),
                 {kTickSize, kInk, Align::kLeft, false});
    y += kRow;
  }
}

double shared_legend_height(std::span<const LegendLine> legend, double width) {
  const std::size_t rows = lay_out_shared(legend, width).rows;
  return rows == 0 ? 0 : static_cast<double>(rows) * kRow + 2 * kPad;
}

// Column by column, so that neighbours in the list stay neighbours.
void draw_shared_legend(std::span<const LegendLine> legend, const Rect& plots, Painter& painter) {
  const SharedLegend cells = lay_out_shared(legend, plots.w);
  for (std::size_t i = 0; i < legend.size(); ++i) {
    const double x = plots.x + 2 * kPad + static_cast<double>(i / cells.rows) * cells.column;
    const double y = plots.bottom() + kPad + (static_cast<double>(i % cells.rows) + 0.5) * kRow;
    painter.line(std::vector<Point>{{x, y}, {x + kSample, y}}, legend[i].stroke);
    painter.text({x + kSample + kPad, y},
                 fit_text(legend[i].name, kTickSize, cells.column - kSample - 3 * kPad),
                 {kTickSize, kInk, Align::kLeft, false});
  }
}

}  // namespace fovea::visualise
