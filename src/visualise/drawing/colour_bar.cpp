#include "visualise/drawing/colour_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/drawing/ticks.h"

namespace fovea::visualise {
namespace {

constexpr double kThickness = 12;
constexpr double kTickLength = 3;
constexpr double kBarGap = 6;

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
  FOVEA_CHECK(!bar.logarithmic || bar.low > 0, ConfigError,
              fmt::format("colour bar: logarithms from {}; expected above 0", bar.low));
}

bool has_words(const ColourBar& bar) { return !bar.low_text.empty(); }

bool holds_zero(const ColourBar& bar) { return bar.low < 0 && bar.high > 0; }

bool holds_mark(const ColourBar& bar) {
  return bar.mark && *bar.mark >= bar.low && *bar.mark <= bar.high;
}

// 0 to 1 from the low end.
double share_of(const ColourBar& bar, double value) {
  if (bar.logarithmic) return std::log(value / bar.low) / std::log(bar.high / bar.low);
  return (value - bar.low) / (bar.high - bar.low);
}

// The ticks that every bar has: its ends, and zero.
std::vector<Tick> ends_and_zero(const ColourBar& bar) {
  if (has_words(bar)) {
    std::vector<Tick> ticks{{bar.low, bar.low_text}, {bar.high, bar.high_text}};
    if (holds_zero(bar)) ticks.push_back({0, "0"});
    return ticks;
  }
  const double range = bar.high - bar.low;
  std::vector<Tick> ticks{{bar.low, bar_number(bar.low, range)},
                          {bar.high, bar_number(bar.high, range)}};
  if (holds_zero(bar)) ticks.push_back({0, "0"});
  return ticks;
}

// About `target` numbers between.
std::vector<Tick> ticks_between(const ColourBar& bar, int target) {
  std::vector<Tick> ticks =
      bar.logarithmic ? log_ticks(bar.low, bar.high) : linear_ticks(bar.low, bar.high, target);
  std::erase_if(ticks, [](const Tick& tick) { return tick.label.empty(); });
  if (!bar.logarithmic) return ticks;
  // Every second, third, ... of those that a logarithmic axis has.
  const std::size_t stride =
      (ticks.size() + static_cast<std::size_t>(target) - 1) / static_cast<std::size_t>(target);
  std::vector<Tick> kept;
  for (std::size_t i = 0; i < ticks.size(); i += std::max<std::size_t>(1, stride))
    kept.push_back(ticks[i]);
  return kept;
}

double size_along(const Tick& tick, double text_size, bool vertical) {
  return vertical ? 1.2 * text_size : text_width(tick.label, text_size);
}

// The ticks of a bar, each only where it stands clear of those placed before it.
class TickPlaces {
 public:
  TickPlaces(const ColourBar& bar, double length, double text_size, bool vertical)
      : bar_(bar), length_(length), text_size_(text_size), vertical_(vertical) {}

  void place(const Tick& tick, double gap) {
    PlacedTick p{tick, share_of(bar_, tick.value) * length_, 0,
                 size_along(tick, text_size_, vertical_) / 2};
    const double inside =
        std::min(vertical_ ? kCapHeight / 2 * text_size_ - 3 : p.half, length_ / 2);
    p.centre = std::clamp(p.at, inside, length_ - inside);
    for (const PlacedTick& other : placed) {
      if (std::abs(other.centre - p.centre) < other.half + p.half + gap) return;
    }
    placed.push_back(p);
  }

  std::vector<PlacedTick> placed;

 private:
  const ColourBar& bar_;
  double length_, text_size_;
  bool vertical_;
};

std::vector<PlacedTick> place_ticks(const ColourBar& bar, double length, double text_size,
                                    bool vertical) {
  check(bar);
  TickPlaces fixed(bar, length, text_size, vertical);
  for (const Tick& tick : ends_and_zero(bar)) fixed.place(tick, 0);
  if (has_words(bar)) return fixed.placed;
  if (holds_mark(bar) && !bar.mark_name.empty()) fixed.place({*bar.mark, bar.mark_name}, kBarGap);
  const double spacing = (vertical ? 3.2 : 3.5) * text_size;
  for (int target = std::clamp(static_cast<int>(length / spacing), 1, 5); target >= 1; --target) {
    TickPlaces all = fixed;
    for (const Tick& tick : ticks_between(bar, target)) all.place(tick, kBarGap);
    if (all.placed.size() <= kMostBarTicks) return all.placed;
  }
  return fixed.placed;
}

std::vector<std::string> label_lines(const ColourBar& bar, double length, double text_size) {
  const std::string text =
      bar.label + (bar.label.empty() || bar.mark_text.empty() ? "" : "; ") + bar.mark_text;
  if (text.empty()) return {};
  std::vector<std::string> lines = wrap_text(text, text_size, length);
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

// A line across the bar that is seen on any colour.
void draw_mark(const ColourBar& bar, double value, const Rect& rect, bool vertical,
               Painter& painter) {
  const double at = share_of(bar, value) * (vertical ? rect.h : rect.w);
  const std::vector<Point> across =
      vertical
          ? std::vector<Point>{{rect.x, rect.bottom() - at}, {rect.right(), rect.bottom() - at}}
          : std::vector<Point>{{rect.x + at, rect.y}, {rect.x + at, rect.bottom()}};
  painter.line(across, {kWhite, 3, {}});
  painter.line(across, {kInk, 1, {}});
}

}  // namespace

std::string bar_number(double value, double range) {
  const double size = std::max(std::abs(value), range);
  if (value == 0 || !(size > 0)) return "0";
  const bool scientific = size < 1e-3 || size >= 1e5;
  const int exponent = scientific ? static_cast<int>(std::floor(std::log10(size))) : 0;
  const double unit = std::pow(10.0, exponent);
  const auto places = [&](double v, int more) {
    return v > 0 ? static_cast<int>(std::ceil(-std::log10(v / unit))) + more : 0;
  };
  const int decimals = std::clamp(
      std::max(places(std::max(std::abs(value), range / 10), 2), places(range, 1)), 0, 12);
  std::string text = fixed_label(value / unit, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return scientific && text != "0" ? text + "×10" + superscript(exponent) : text;
}

double colour_bar_least_length(const ColourBar& bar, double text_size, bool vertical) {
  check(bar);
  const std::vector<Tick> ticks = ends_and_zero(bar);
  const auto size = [&](std::size_t i) { return size_along(ticks[i], text_size, vertical); };
  double least = size(0) + size(1) + kBarGap;
  if (ticks.size() == 3) {
    // Zero splits the bar in two; either part has room for half a zero and its end.
    const double zero = share_of(bar, 0);
    least = std::max((size(2) / 2 + kBarGap + size(0)) / zero,
                     (size(2) / 2 + kBarGap + size(1)) / (1 - zero));
    least = std::min(least, 4 * (size(0) + size(1) + size(2) + 2 * kBarGap));
  }
  // Narrower than any word, text is wrapped into words.
  for (const std::string& word : wrap_text(bar.label + " " + bar.mark_text, text_size, 0))
    least = std::max(least, text_width(word, text_size));
  return least;
}

double colour_bar_breadth(const ColourBar& bar, double length, double text_size, bool vertical) {
  const std::vector<PlacedTick> ticks = place_ticks(bar, length, text_size, vertical);
  const auto lines = static_cast<double>(label_lines(bar, length, text_size).size());
  return kThickness + kBarGap + (vertical ? widest_label(ticks, text_size) : text_size) +
         (lines > 0 ? kBarGap + (1 + (lines - 1) * kLineSpacing) * text_size : 0);
}

void draw_colour_bar(const ColourBar& bar, Point origin, double length, double text_size,
                     bool vertical, Painter& painter) {
  const std::vector<PlacedTick> ticks = place_ticks(bar, length, text_size, vertical);
  const Rect rect = vertical ? Rect{origin.x, origin.y, kThickness, length}
                             : Rect{origin.x, origin.y, length, kThickness};
  draw_strips(bar, rect, vertical, painter);
  if (holds_zero(bar)) draw_mark(bar, 0, rect, vertical, painter);
  if (holds_mark(bar)) draw_mark(bar, *bar.mark, rect, vertical, painter);
  for (const PlacedTick& p : ticks) {
    if (vertical) {
      const double y = rect.bottom() - p.at;
      painter.line(std::vector<Point>{{rect.right(), y}, {rect.right() + kTickLength, y}}, {});
      painter.text({rect.right() + kBarGap, rect.bottom() - p.centre}, p.tick.label,
                   {text_size, kInk, Align::kLeft, false});
    } else {
      const double x = rect.x + p.at;
      painter.line(std::vector<Point>{{x, rect.bottom()}, {x, rect.bottom() + kTickLength}}, {});
      painter.text({rect.x + p.centre, rect.bottom() + kBarGap + text_size / 2}, p.tick.label,
                   {text_size, kInk, Align::kCentre, false});
    }
  }
  const std::vector<std::string> lines = label_lines(bar, length, text_size);
  const double breadth = colour_bar_breadth(bar, length, text_size, vertical);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // The last line stands at the edge.
    const double above = static_cast<double>(lines.size() - 1 - i) * kLineSpacing * text_size;
    const double across = breadth - text_size / 2 - above;
    painter.text(vertical ? Point{rect.x + across, rect.centre_y()}
                          : Point{rect.centre_x(), rect.y + across},
                 lines[i], {text_size, kInk, Align::kCentre, vertical});
  }
}

}  // namespace fovea::visualise
