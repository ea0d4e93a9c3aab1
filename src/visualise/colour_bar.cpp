#include "visualise/colour_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/plot_axis.h"

namespace fovea::visualise {
namespace {

constexpr double kThickness = 12;
constexpr double kTickLength = 3;
constexpr double kGap = 6;

std::vector<Tick> bar_ticks(const ColourBar& bar, double length, double text_size, bool vertical) {
  FOVEA_CHECK(
      std::isfinite(bar.low) && std::isfinite(bar.high) && bar.low < bar.high, ConfigError,
      fmt::format("colour bar: ends are {} and {}; expected low < high", bar.low, bar.high));
  Axis axis;
  axis.low = bar.low;
  axis.high = bar.high;
  return fitting_ticks(axis, length, text_size, vertical, false);
}

double widest_label(const std::vector<Tick>& ticks, double text_size) {
  double widest = 0;
  for (const Tick& tick : ticks) widest = std::max(widest, text_width(tick.label, text_size));
  return widest;
}

// Every strip reaches to the end of the bar and the next is drawn over it: no seams in SVG.
void draw_strips(const ColourBar& bar, const Rect& rect, bool vertical, Painter& painter) {
  constexpr int kStrips = 256;
  for (int i = 0; i < kStrips; ++i) {
    const double t = static_cast<double>(i) / kStrips;
    const Colour colour = colour_of(bar.map, (i + 0.5) / kStrips);
    painter.rectangle(vertical ? Rect{rect.x, rect.y, rect.w, rect.h * (1 - t)}
                               : Rect{rect.x + t * rect.w, rect.y, rect.w * (1 - t), rect.h},
                      colour);
  }
  painter.frame(rect, {kInk, 0.8, {}});
}

}  // namespace

double colour_bar_breadth(const ColourBar& bar, double length, double text_size, bool vertical) {
  const double labels =
      vertical ? widest_label(bar_ticks(bar, length, text_size, true), text_size) : text_size;
  return kThickness + kGap + labels + (bar.label.empty() ? 0 : kGap + text_size);
}

void draw_colour_bar(const ColourBar& bar, Point origin, double length, double text_size,
                     bool vertical, Painter& painter) {
  const std::vector<Tick> ticks = bar_ticks(bar, length, text_size, vertical);
  const Rect rect = vertical ? Rect{origin.x, origin.y, kThickness, length}
                             : Rect{origin.x, origin.y, length, kThickness};
  draw_strips(bar, rect, vertical, painter);
  const std::string label = fit_text(bar.label, text_size, length);
  const double breadth = colour_bar_breadth(bar, length, text_size, vertical);
  double taken = -1e30;  // where the last horizontal label ends
  for (const Tick& tick : ticks) {
    const double t = (tick.value - bar.low) / (bar.high - bar.low);
    // The labels at the ends move inwards, away from a neighbouring bar's.
    if (vertical) {
      const double y = rect.bottom() - t * rect.h, half = kCapHeight / 2 * text_size - 3;
      const double centre = std::max(rect.y + half, std::min(y, rect.bottom() - half));
      painter.line(std::vector<Point>{{rect.right(), y}, {rect.right() + kTickLength, y}}, {});
      painter.text({rect.right() + kGap, centre}, tick.label,
                   {text_size, kInk, Align::kLeft, false});
    } else {
      const double x = rect.x + t * rect.w, half = text_width(tick.label, text_size) / 2;
      const double centre = std::max(rect.x + half, std::min(x, rect.right() - half));
      painter.line(std::vector<Point>{{x, rect.bottom()}, {x, rect.bottom() + kTickLength}}, {});
      if (centre - half < taken + kGap) continue;  // a label that moved inwards stands there
      taken = centre + half;
      painter.text({centre, rect.bottom() + kGap + text_size / 2}, tick.label,
                   {text_size, kInk, Align::kCentre, false});
    }
  }
  const Point anchor = vertical ? Point{rect.x + breadth - text_size / 2, rect.centre_y()}
                                : Point{rect.centre_x(), rect.y + breadth - text_size / 2};
  painter.text(anchor, label, {text_size, kInk, Align::kCentre, vertical});
}

}  // namespace fovea::visualise
