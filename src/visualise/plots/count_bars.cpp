#include "visualise/plots/count_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/drawing/painter.h"
#include "visualise/drawing/ticks.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/plots/plot_sizes.h"

namespace fovea::visualise {
namespace {

constexpr double kBarHeight = 20, kBarPitch = 28, kBarsWidth = 380, kWidestBarName = 160;

// Sizes in units of the figure.
struct BarsLayout {
  std::vector<std::int64_t> sums;
  double most = 1;  // what the width of the axes stands for
  Rect inner;
  std::size_t parts = 1;  // that have a colour of their own
  double legend_height = 0;
  double width = 0, height = 0;
};

void check(const CountBars& bars) {
  FOVEA_CHECK(!bars.names.empty() && !bars.parts.empty() &&
                  bars.counts.size() == bars.names.size() * bars.parts.size(),
              ShapeError,
              fmt::format("bars: {} counts for {} bars of {} parts", bars.counts.size(),
                          bars.names.size(), bars.parts.size()));
  FOVEA_CHECK(std::all_of(bars.counts.begin(), bars.counts.end(), [](auto c) { return c >= 0; }),
              NumericError, "bars: a count is negative; expected counts >= 0");
}

double legend_entry_width(const std::string& name) {
  return 12 + kPlotGap + text_width(fit_text(name, kTickSize, kWidestBarName), kTickSize) +
         2 * kPlotGap;
}

// The upper left corners of the entries, from (0, 0), in lines of `width`.
std::vector<Point> legend_places(const CountBars& bars, double width) {
  std::vector<Point> places;
  Point at;
  for (const std::string& part : bars.parts) {
    const double own = legend_entry_width(part);
    if (at.x > 0 && at.x + own > width) at = {0, at.y + 1.6 * kTickSize};
    places.push_back(at);
    at.x += own;
  }
  return places;
}

BarsLayout lay_out_bars(const CountBars& bars) {
  BarsLayout l;
  l.parts = bars.parts.size() <= kMostBarParts ? bars.parts.size() : 1;
  double names = 0;
  for (std::size_t i = 0; i < bars.names.size(); ++i) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < bars.parts.size(); ++k)
      sum += bars.counts[i * bars.parts.size() + k];
    l.sums.push_back(sum);
    l.most = std::max(l.most, static_cast<double>(sum));
    names =
        std::max(names, text_width(fit_text(bars.names[i], kTickSize, kWidestBarName), kTickSize));
  }
  const double top = kPlotMargin + (bars.title.empty() ? 0 : kTitleSize + 1.5 * kPlotGap);
  l.inner = {kPlotMargin + names + kPlotGap, top, kBarsWidth,
             kBarPitch * static_cast<double>(bars.names.size())};
  const double sum_width =
      text_width(fmt::format("{}", static_cast<std::int64_t>(l.most)), kTickSize);
  l.width = l.inner.right() + kPlotGap + sum_width + kPlotMargin;
  if (l.parts > 1)
    l.legend_height = legend_places(bars, l.inner.w).back().y + 1.6 * kTickSize + kPlotGap;
  l.height =
      l.inner.bottom() + 2 * kPlotGap + kTickSize + kLabelSize + l.legend_height + kPlotMargin;
  return l;
}

void draw_count_bars(const CountBars& bars, const BarsLayout& l, Painter& painter) {
  for (std::size_t i = 0; i < bars.names.size(); ++i) {
    const double y = l.inner.y + kBarPitch * (static_cast<double>(i) + 0.5);
    painter.text({l.inner.x - kPlotGap, y}, fit_text(bars.names[i], kTickSize, kWidestBarName),
                 {kTickSize, kInk, Align::kRight, false});
    std::int64_t before = 0;
    for (std::size_t k = 0; k < l.parts; ++k) {
      const std::int64_t count = l.parts == 1 ? l.sums[i] : bars.counts[i * bars.parts.size() + k];
      const auto x = [&](std::int64_t at) {
        return l.inner.x + l.inner.w * static_cast<double>(at) / l.most;
      };
      if (count > 0)
        painter.rectangle(
            {x(before), y - kBarHeight / 2, x(before + count) - x(before), kBarHeight},
            class_colour(static_cast<std::int64_t>(k) + 1));
      before += count;
    }
    const double end = l.inner.x + l.inner.w * static_cast<double>(l.sums[i]) / l.most;
    painter.text({end + kPlotGap, y}, fmt::format("{}", l.sums[i]),
                 {kTickSize, kInk, Align::kLeft, false});
  }
}

void draw_count_axis(const CountBars& bars, const BarsLayout& l, Painter& painter) {
  const double bottom = l.inner.bottom();
  for (const Tick& tick : linear_ticks(0, l.most, 6, true)) {
    const double x = l.inner.x + l.inner.w * tick.value / l.most;
    painter.line(std::vector<Point>{{x, l.inner.y}, {x, bottom}}, {kGridLine, 1, {}});
    painter.text({x, bottom + kPlotGap + kTickSize / 2}, tick.label,
                 {kTickSize, kInk, Align::kCentre, false});
  }
  painter.text({l.inner.centre_x(), bottom + 2 * kPlotGap + kTickSize + kLabelSize / 2}, bars.label,
               {kLabelSize, kInk, Align::kCentre, false});
}

void draw_bars_legend(const CountBars& bars, const BarsLayout& l, Painter& painter) {
  const std::vector<Point> places = legend_places(bars, l.inner.w);
  const double top = l.height - kPlotMargin - l.legend_height + kPlotGap;
  for (std::size_t k = 0; k < bars.parts.size(); ++k) {
    const double x = l.inner.x + places[k].x, y = top + places[k].y;
    painter.rectangle({x, y, 12, 12}, class_colour(static_cast<std::int64_t>(k) + 1));
    painter.text({x + 12 + kPlotGap, y + 6}, fit_text(bars.parts[k], kTickSize, kWidestBarName),
                 {kTickSize, kInk, Align::kLeft, false});
  }
}

void draw(const CountBars& bars, const BarsLayout& l, Painter& painter) {
  draw_count_axis(bars, l, painter);
  draw_count_bars(bars, l, painter);
  painter.line(std::vector<Point>{{l.inner.x, l.inner.y}, {l.inner.x, l.inner.bottom()}}, {});
  painter.text({l.width / 2, kPlotMargin + kTitleSize / 2},
               fit_text(bars.title, kTitleSize, l.width - 2 * kPlotMargin),
               {kTitleSize, kInk, Align::kCentre, false});
  if (l.parts > 1) draw_bars_legend(bars, l, painter);
}

}  // namespace

Canvas render(const CountBars& bars, double scale) {
  check(bars);
  FOVEA_CHECK(scale > 0 && scale <= 16, ConfigError,
              fmt::format("bars: scale is {}; expected a number in (0, 16]", scale));
  const BarsLayout layout = lay_out_bars(bars);
  Canvas canvas(std::llround(layout.width * scale), std::llround(layout.height * scale));
  CanvasPainter painter(canvas, scale);
  draw(bars, layout, painter);
  return canvas;
}

std::string to_svg(const CountBars& bars) {
  check(bars);
  const BarsLayout layout = lay_out_bars(bars);
  SvgPainter painter;
  draw(bars, layout, painter);
  return painter.document(layout.width, layout.height);
}

}  // namespace fovea::visualise
