#include "visualise/plots/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/file.h"
#include "visualise/drawing/colour_map.h"
#include "visualise/plots/plot_axis.h"
#include "visualise/plots/plot_legend.h"
#include "visualise/plots/plot_names.h"
#include "visualise/plots/plot_sizes.h"

namespace fovea::visualise {
namespace {

constexpr double kTickLength = 4;
constexpr double kDotRadius = 2.8;

void check(const LinePlot& plot) {
  for (const Series& s : plot.series) {
    FOVEA_CHECK(s.x.size() == s.y.size() && (s.band.empty() || s.band.size() == s.y.size()) &&
                    (s.labels.empty() || s.labels.size() == s.y.size()) &&
                    (s.areas.empty() || s.areas.size() == s.y.size()),
                ShapeError,
                fmt::format("plot: series \"{}\" has {} x, {} y, {} band values, {} labels and {} "
                            "areas; expected equal numbers (or no band, no labels, no areas)",
                            s.name, s.x.size(), s.y.size(), s.band.size(), s.labels.size(),
                            s.areas.size()));
  }
}

// Where the parts of one plot lie.
struct Layout {
  Rect area;   // the whole plot
  Rect inner;  // between the axes
  Axis x, y;
  std::vector<Tick> x_ticks, y_ticks;
};

Layout lay_out(const LinePlot& plot, const Rect& area, double legend_width) {
  Layout l{area, {}, x_axis(plot), y_axis(plot), {}, {}};
  const double top = area.y + kPlotMargin + (plot.title.empty() ? 0 : kTitleSize + kPlotGap);
  const double bottom = area.bottom() - kPlotMargin - kTickSize - kPlotGap -
                        (plot.x_label.empty() ? 0 : kLabelSize + kPlotGap);
  l.y_ticks = fitting_ticks(l.y, bottom - top, kTickSize, true, false);
  double widest = 0;
  for (const Tick& tick : l.y_ticks) widest = std::max(widest, text_width(tick.label, kTickSize));
  const double left =
      area.x + kPlotMargin + widest + kPlotGap + (plot.y_label.empty() ? 0 : kLabelSize + kPlotGap);
  double right = area.right() - kPlotMargin - (legend_width > 0 ? legend_width + kPlotMargin : 0);
  l.x_ticks = fitting_ticks(l.x, right - left, kTickSize, false, has_whole_x(plot));
  if (!l.x_ticks.empty() && legend_width == 0) {
    // Half of the last label may stand out to the right of the axis.
    const double reach = text_width(l.x_ticks.back().label, kTickSize) / 2 + 2;
    right = std::min(right, area.right() - std::max(kPlotMargin, reach));
  }
  l.inner = {left, top, right - left, bottom - top};
  l.x.from = left;
  l.x.to = right;
  l.y.from = bottom;
  l.y.to = top;
  return l;
}

void draw_axes(const LinePlot& plot, const Layout& l, Painter& painter) {
  const Rect& in = l.inner;
  const Stroke grid{kGridLine, 0.8, {}}, axis{kInk, 1, {}};
  const auto segment = [&](Point a, Point b, const Stroke& stroke) {
    painter.line(std::vector<Point>{a, b}, stroke);
  };
  for (const Tick& tick : l.x_ticks) {
    const double x = l.x.position(tick.value);
    const bool major = !tick.label.empty();
    if (major) segment({x, in.y}, {x, in.bottom()}, grid);
    segment({x, in.bottom()}, {x, in.bottom() + (major ? kTickLength : kTickLength / 2)}, axis);
    painter.text({x, in.bottom() + kPlotGap + kTickSize / 2}, tick.label,
                 {kTickSize, kInk, Align::kCentre, false});
  }
  for (const Tick& tick : l.y_ticks) {
    const double y = l.y.position(tick.value);
    const bool major = !tick.label.empty();
    if (major) segment({in.x, y}, {in.right(), y}, grid);
    segment({in.x - (major ? kTickLength : kTickLength / 2), y}, {in.x, y}, axis);
    painter.text({in.x - kPlotGap, y}, tick.label, {kTickSize, kInk, Align::kRight, false});
  }
  painter.text({in.centre_x(), l.area.bottom() - kPlotMargin - kLabelSize / 2},
               fit_text(plot.x_label, kLabelSize, l.area.w - 2 * kPlotMargin),
               {kLabelSize, kInk, Align::kCentre, false});
  painter.text({l.area.x + kPlotMargin + kLabelSize / 2, in.centre_y()},
               fit_text(plot.y_label, kLabelSize, l.area.h - 2 * kPlotMargin),
               {kLabelSize, kInk, Align::kCentre, true});
  const std::string title = fit_text(plot.title, kTitleSize, l.area.w - 2 * kPlotMargin);
  // Centred over the axes where it fits, otherwise moved inside the picture.
  const double half = text_width(title, kTitleSize) / 2 + kPlotMargin;
  const double centre = std::max(l.area.x + half, std::min(in.centre_x(), l.area.right() - half));
  painter.text({centre, l.area.y + kPlotMargin + kTitleSize / 2}, title,
               {kTitleSize, kInk, Align::kCentre, false});
}

void draw_spines(const Layout& l, Painter& painter) {
  const Rect& in = l.inner;
  painter.line(std::vector<Point>{{in.x, in.y}, {in.x, in.bottom()}, {in.right(), in.bottom()}},
               {kInk, 1, {}});
}

// Runs of neighbouring points that have a position; gaps split them.
std::vector<std::vector<std::size_t>> runs(const Series& s, const Layout& l) {
  std::vector<std::vector<std::size_t>> result;
  bool open = false;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    const bool shown = l.x.shows(s.x[i]) && l.y.shows(s.y[i]);
    if (shown && !open) result.emplace_back();
    if (shown) result.back().push_back(i);
    open = shown && s.labels.empty();
  }
  return result;
}

// The part of a segment between the axes; x is inside already.
bool clip_vertically(Point& a, Point& b, const Rect& in) {
  const auto cut = [&](Point& outside, Point other, double y) {
    outside.x += (y - outside.y) / (other.y - outside.y) * (other.x - outside.x);
    outside.y = y;
  };
  if ((a.y < in.y && b.y < in.y) || (a.y > in.bottom() && b.y > in.bottom())) return false;
  const Point a0 = a, b0 = b;
  if (a0.y < in.y) cut(a, b0, in.y);
  if (a0.y > in.bottom()) cut(a, b0, in.bottom());
  if (b0.y < in.y) cut(b, a0, in.y);
  if (b0.y > in.bottom()) cut(b, a0, in.bottom());
  return true;
}

// The drawn pieces of a curve, cut to the area between the axes.
std::vector<std::vector<Point>> curve(const Series& s, const Layout& l) {
  std::vector<std::vector<Point>> lines;
  for (const auto& run : runs(s, l)) {
    bool joined = false;
    for (std::size_t i = 0; i < run.size(); ++i) {
      const std::size_t j = std::min(i + 1, run.size() - 1);
      if (i == j && run.size() > 1) break;
      Point a{l.x.position(s.x[run[i]]), l.y.position(s.y[run[i]])};
      Point b{l.x.position(s.x[run[j]]), l.y.position(s.y[run[j]])};
      const double end = b.y;
      if (!clip_vertically(a, b, l.inner)) {
        joined = false;
        continue;
      }
      if (!joined) lines.push_back({a});
      lines.back().push_back(b);
      joined = b.y == end;
    }
  }
  return lines;
}

// The outline of the shaded area around each run, cut to the area between the axes.
std::vector<std::vector<Point>> band_outlines(const Series& s, const Layout& l) {
  std::vector<std::vector<Point>> outlines;
  if (s.band.empty()) return outlines;
  const auto point = [&](std::size_t i, double side) {
    const double width = std::isfinite(s.band[i]) ? s.band[i] : 0;
    const double y = l.y.position(s.y[i] + side * width);
    return Point{l.x.position(s.x[i]), std::clamp(y, l.inner.y, l.inner.bottom())};
  };
  for (const auto& run : runs(s, l)) {
    std::vector<Point> outline;
    for (const std::size_t i : run) outline.push_back(point(i, 1));
    for (auto i = run.rbegin(); i != run.rend(); ++i) outline.push_back(point(*i, -1));
    outlines.push_back(std::move(outline));
  }
  return outlines;
}

double radius_of(const Series& s, std::size_t i) {
  return kDotRadius * (s.areas.empty() ? 1 : std::sqrt(s.areas[i]));
}

// The points that may have names, and these.
std::vector<NamedPoint> named_points(const LinePlot& plot, const Layout& l) {
  std::vector<NamedPoint> points;
  for (const Series& s : plot.series) {
    for (std::size_t i = 0; i < s.labels.size(); ++i) {
      if (l.x.shows(s.x[i]) && l.y.shows(s.y[i]))
        points.push_back(
            {{l.x.position(s.x[i]), l.y.position(s.y[i])}, s.labels[i], radius_of(s, i)});
    }
  }
  return points;
}

void draw_dot(Point centre, double radius, Colour colour, Painter& painter) {
  constexpr int kCorners = 20;
  std::vector<Point> circle;
  for (int i = 0; i < kCorners; ++i) {
    const double angle = 2 * std::numbers::pi * i / kCorners;
    circle.push_back({centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)});
  }
  painter.polygon(circle, colour, 1);
}

void draw_bars(const Series& s, const Layout& l, Colour colour, Painter& painter) {
  constexpr double kHalfWidth = 0.4;
  const auto height = [&](double y) {
    return std::clamp(l.y.position(y), l.inner.y, l.inner.bottom());
  };
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    if (!l.x.shows(s.x[i]) || !l.y.shows(s.y[i])) continue;
    const double left = l.x.position(s.x[i] - kHalfWidth);
    const double right = l.x.position(s.x[i] + kHalfWidth);
    const double top = height(std::max(s.y[i], 0.0)), bottom = height(std::min(s.y[i], 0.0));
    painter.rectangle({left, top, right - left, bottom - top}, colour);
  }
  const double zero = height(0);
  painter.line(std::vector<Point>{{l.inner.x, zero}, {l.inner.right(), zero}}, {kInk, 0.8, {}});
}

void draw_curve(const Series& s, const Layout& l, const Stroke& stroke, Painter& painter) {
  if (s.bars) return draw_bars(s, l, stroke.colour, painter);
  constexpr std::size_t kMostDots = 15;  // sparse measurements are shown as such
  for (const auto& line : curve(s, l)) painter.line(line, stroke);
  if (s.guide || !s.dots) return;
  for (const auto& run : runs(s, l)) {
    if (run.size() > 1 && s.x.size() > kMostDots) continue;  // of a line
    for (const std::size_t i : run) {
      const Point p{l.x.position(s.x[i]), l.y.position(s.y[i])};
      if (p.y >= l.inner.y && p.y <= l.inner.bottom())
        draw_dot(p, radius_of(s, i), stroke.colour, painter);
    }
  }
}

template <class Draw>
Canvas on_canvas(double width, double height, double scale, Draw draw_on) {
  FOVEA_CHECK(scale > 0 && scale <= 16 && width >= 1 && height >= 1, ConfigError,
              fmt::format("plot: {} x {} units at scale {}; expected at least 1 x 1 and a scale in "
                          "(0, 16]",
                          width, height, scale));
  Canvas canvas(std::llround(width * scale), std::llround(height * scale));
  CanvasPainter painter(canvas, scale);
  draw_on(painter);
  return canvas;
}

// What the grid of plots takes.
Rect grid_size(std::span<const LinePlot> plots, std::int64_t columns) {
  FOVEA_CHECK(!plots.empty() && columns >= 1, ConfigError,
              fmt::format("plot: {} plots in {} columns; expected at least one of each",
                          plots.size(), columns));
  const std::int64_t used = std::min(columns, std::ssize(plots));
  const std::int64_t rows = (std::ssize(plots) + used - 1) / used;
  return {0, 0, plots[0].width * static_cast<double>(used),
          plots[0].height * static_cast<double>(rows)};
}

void draw_grid(std::span<const LinePlot> plots, std::int64_t columns, Painter& painter) {
  const double w = plots[0].width, h = plots[0].height;
  for (std::int64_t i = 0; i < std::ssize(plots); ++i) {
    const Rect cell{w * static_cast<double>(i % columns), h * static_cast<double>(i / columns), w,
                    h};
    draw(plots[static_cast<std::size_t>(i)], cell, painter);
  }
}

}  // namespace

void draw(const LinePlot& plot, const Rect& area, Painter& painter) {
  check(plot);
  Layout layout = lay_out(plot, area, 0);
  std::vector<std::vector<Point>> lines;
  for (const Series& series : plot.series) {
    for (auto& line : curve(series, layout)) lines.push_back(std::move(line));
    for (auto& line : band_outlines(series, layout)) lines.push_back(std::move(line));
  }
  Legend legend = make_legend(plot, layout.inner, lines);
  if (legend.outside) {
    layout = lay_out(plot, area, legend.box.w);
    legend.box.x = layout.inner.right() + kPlotMargin;
    legend.box.y = layout.inner.y;
  }
  draw_axes(plot, layout, painter);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    for (const auto& outline : band_outlines(plot.series[i], layout)) {
      painter.polygon(outline, series_stroke(plot, i).colour, 0.2);
    }
  }
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    draw_curve(plot.series[i], layout, series_stroke(plot, i), painter);
  }
  draw_spines(layout, painter);
  draw_legend(plot, legend, painter);
  draw_names(named_points(plot, layout), layout.inner, legend.outside ? Rect{} : legend.box,
             painter);
}

Canvas render(const LinePlot& plot, double scale) { return render({&plot, 1}, 1, scale); }

std::string to_svg(const LinePlot& plot) { return to_svg({&plot, 1}, 1); }

Canvas render(std::span<const LinePlot> plots, std::int64_t columns, double scale,
              std::span<const LegendLine> legend) {
  const Rect size = grid_size(plots, columns);
  return on_canvas(size.w, size.h + shared_legend_height(legend, size.w), scale,
                   [&](Painter& painter) {
                     draw_grid(plots, columns, painter);
                     draw_shared_legend(legend, size, painter);
                   });
}

std::string to_svg(std::span<const LinePlot> plots, std::int64_t columns,
                   std::span<const LegendLine> legend) {
  const Rect size = grid_size(plots, columns);
  SvgPainter painter;
  draw_grid(plots, columns, painter);
  draw_shared_legend(legend, size, painter);
  return painter.document(size.w, size.h + shared_legend_height(legend, size.w));
}

void check_plot_path(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  FOVEA_CHECK(ending == ".png" || ending == ".svg", ConfigError,
              fmt::format("{}: expected a name that ends in .png or .svg", path.string()));
}

void write_plots(const std::filesystem::path& path, std::span<const LinePlot> plots,
                 std::int64_t columns, std::span<const LegendLine> legend) {
  check_plot_path(path);
  if (path.extension() == ".svg") {
    io::write_atomic(path, to_svg(plots, columns, legend));
  } else {
    write_png(path, render(plots, columns, 2, legend));
  }
}

}  // namespace fovea::visualise
