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

constexpr double kLineHeight = 1.25;

// A tick with its place from the low end of the bar. Labels at the ends are moved inwards, away
// from a neighbouring bar's.
struct PlacedTick {
  Tick tick;
  double at = 0;
  double centre = 0;  // of the label
  double half = 0;    // of its size along the bar
};

void check(const ColourBar& bar) {
  FOVEA_CHECK(
      std::isfinite(bar.low) && std::isfinite(bar.high) && bar.low < bar.high, ConfigError,
      fmt::format("colour bar: ends are {} and {}; expected low < high", bar.low, bar.high));
}

// Three digits, a proper minus.
std::string short_number(double value) {
  std::string text;
  for (const char c : fmt::format("{:.3g}", value)) text += c == '-' ? "−" : std::string(1, c);
  return text;
}

// The numbers that no bar is without.
std::vector<Tick> ends_and_zero(const ColourBar& bar) {
  std::vector<Tick> ticks{{bar.low, short_number(bar.low)}, {bar.high, short_number(bar.high)}};
  if (bar.low < 0 && bar.high > 0) ticks.push_back({0, "0"});
  return ticks;
}

double size_along(const Tick& tick, double text_size, bool vertical) {
  return vertical ? 1.2 * text_size : text_width(tick.label, text_size);
}

std::vector<PlacedTick> place_ticks(const ColourBar& bar, double length, double text_size,
                                    bool vertical) {
  check(bar);
  std::vector<PlacedTick> placed;
  const auto place = [&](const Tick& tick, double gap) {
    PlacedTick p{tick, (tick.value - bar.low) / (bar.high - bar.low) * length, 0,
                 size_along(tick, text_size, vertical) / 2};
    const double inside = std::min(vertical ? kCapHeight / 2 * text_size - 3 : p.half, length / 2);
    p.centre = std::clamp(p.at, inside, length - inside);
    for (const PlacedTick& other : placed) {
      if (std::abs(other.centre - p.centre) < other.half + p.half + gap) return;
    }
    placed.push_back(p);
  };
  for (const Tick& tick : ends_and_zero(bar)) place(tick, 0);
  Axis axis;
  axis.low = bar.low;
  axis.high = bar.high;
  for (const Tick& tick : fitting_ticks(axis, length, text_size, vertical, false))
    place(tick, kGap);
  return placed;
}

std::vector<std::string> label_lines(const ColourBar& bar, double length, double text_size) {
  if (bar.label.empty()) return {};
  std::vector<std::string> lines = wrap_text(bar.label, text_size, length);
  for (std::string& line : lines) line = fit_text(line, text_size, length);
  return lines;
}

double widest_label(const std::vector<PlacedTick>& ticks, double text_size) {
  double widest = 0;
  for (const PlacedTick& p : ticks) widest = std::max(widest, text_width(p.tick.label, text_size));
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

double colour_bar_least_length(const ColourBar& bar, double text_size, bool vertical) {
  check(bar);
  const std::vector<Tick> ticks = ends_and_zero(bar);
  const auto size = [&](std::size_t i) { return size_along(ticks[i], text_size, vertical); };
  double least = size(0) + size(1) + kGap;
  if (ticks.size() == 3) {
    // Zero splits the bar in two; either part has room for half a zero and its end.
    const double zero = -bar.low / (bar.high - bar.low);
    least = std::max((size(2) / 2 + kGap + size(0)) / zero,
                     (size(2) / 2 + kGap + size(1)) / (1 - zero));
    least = std::min(least, 4 * (size(0) + size(1) + size(2) + 2 * kGap));
  }
  // Narrower than any word, text is wrapped into words.
  for (const std::string& word : wrap_text(bar.label, text_size, 0))
    least = std::max(least, text_width(word, text_size));
  return least;
}

double colour_bar_breadth(const ColourBar& bar, double length, double text_size, bool vertical) {
  const std::vector<PlacedTick> ticks = place_ticks(bar, length, text_size, vertical);
  const auto lines = static_cast<double>(label_lines(bar, length, text_size).size());
  return kThickness + kGap + (vertical ? widest_label(ticks, text_size) : text_size) +
         (lines > 0 ? kGap + (1 + (lines - 1) * kLineHeight) * text_size : 0);
}

void draw_colour_bar(const ColourBar& bar, Point origin, double length, double text_size,
                     bool vertical, Painter& painter) {
  const std::vector<PlacedTick> ticks = place_ticks(bar, length, text_size, vertical);
  const Rect rect = vertical ? Rect{origin.x, origin.y, kThickness, length}
                             : Rect{origin.x, origin.y, length, kThickness};
  draw_strips(bar, rect, vertical, painter);
  for (const PlacedTick& p : ticks) {
    if (vertical) {
      const double y = rect.bottom() - p.at;
      painter.line(std::vector<Point>{{rect.right(), y}, {rect.right() + kTickLength, y}}, {});
      painter.text({rect.right() + kGap, rect.bottom() - p.centre}, p.tick.label,
                   {text_size, kInk, Align::kLeft, false});
    } else {
      const double x = rect.x + p.at;
      painter.line(std::vector<Point>{{x, rect.bottom()}, {x, rect.bottom() + kTickLength}}, {});
      painter.text({rect.x + p.centre, rect.bottom() + kGap + text_size / 2}, p.tick.label,
                   {text_size, kInk, Align::kCentre, false});
    }
  }
  const std::vector<std::string> lines = label_lines(bar, length, text_size);
  const double breadth = colour_bar_breadth(bar, length, text_size, vertical);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // The last line stands at the edge.
    const double above = static_cast<double>(lines.size() - 1 - i) * kLineHeight * text_size;
    const double across = breadth - text_size / 2 - above;
    painter.text(vertical ? Point{rect.x + across, rect.centre_y()}
                          : Point{rect.centre_x(), rect.y + across},
                 lines[i], {text_size, kInk, Align::kCentre, vertical});
  }
}

}  // namespace fovea::visualise
