#include "visualise/layouts/sequences/speech_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "visualise/drawing/colour_bar.h"
#include "visualise/drawing/ticks.h"

namespace fovea::visualise {
namespace {

constexpr double kSpeechMargin = 14, kSpeechGap = 16, kSpeechTick = 4;
constexpr double kSpeechTitle = 14, kSpeechText = 12, kSpeechTicks = 11;
constexpr double kFeaturesHeight = 150, kProbabilitiesHeight = 90, kSaidHeight = 18;
constexpr double kSymbolsHeight = 16;  // of the names above the probabilities
constexpr double kLeastPart = 120;     // of a part that has a colour bar
constexpr double kWidestSymbol = 90;   // of symbols at the left
constexpr Colour kBlankCurve{150, 150, 150};

void check(const SpeechFigure& f) {
  FOVEA_CHECK(f.factor >= 1 && f.factor <= 8, ConfigError,
              fmt::format("speech figure: factor {}; expected 1 to 8", f.factor));
  const auto sized = [](const Matrix& m) { return std::ssize(m.values) == m.rows * m.cols; };
  FOVEA_CHECK(f.seconds > 0 && sized(f.features) && !f.features.values.empty() &&
                  std::ssize(f.hertz) == f.features.cols,
              ShapeError,
              fmt::format("speech figure: {} x {} features of {} bands and {} seconds; expected "
                          "frames, and the hertz of every band",
                          f.features.rows, f.features.cols, f.hertz.size(), f.seconds));
  FOVEA_CHECK(sized(f.probabilities) && f.probabilities.rows >= 1, ShapeError,
              "speech figure: no probabilities; expected those of one token or more");
  FOVEA_CHECK(f.looks.values.empty() || (sized(f.looks) && f.looks.rows == std::ssize(f.heard) &&
                                         f.looks.cols == f.probabilities.rows),
              ShapeError,
              fmt::format("speech figure: {} x {} rows of attention of {} symbols and {} tokens",
                          f.looks.rows, f.looks.cols, f.heard.size(), f.probabilities.rows));
}

// What stands at the left of the axes.
double left_of(const SpeechFigure& f) {
  double widest = text_width("16000", kSpeechTicks);
  for (const TimedSymbol& one : f.heard)
    widest = std::max(widest, std::min(kWidestSymbol, text_width(one.text, kSpeechTicks)));
  return kSpeechMargin + 1.6 * kSpeechText + widest + 2 * kSpeechTick;
}

// Percentiles, as of maps without sign.
Limits features_limits(const SpeechFigure& f) { return limits_of(Quantity{}, f.features.values); }

ColourBar features_bar(const SpeechFigure& f) {
  return bar_of({false, f.features_name}, features_limits(f), HeatEnds::kPercentiles,
                ColourMap::kViridis, 0);
}

// The token at which a symbol is the most probable.
std::int64_t token_of(const SpeechFigure& f, const TimedSymbol& one) {
  return std::llround((one.peak - f.tokens.first) / f.tokens.step);
}

// The weights that count for the colours: all but those of the symbols' own tokens.
Limits looks_limits(const SpeechFigure& f) {
  std::vector<double> others;
  for (std::int64_t row = 0; row < f.looks.rows; ++row) {
    const std::int64_t own = token_of(f, f.heard[static_cast<std::size_t>(row)]);
    for (std::int64_t t = 0; t < f.looks.cols; ++t) {
      if (t != own || f.looks.cols == 1) others.push_back(f.looks.at(row, t));
    }
  }
  return limits_of(f.quantity, others, f.ends, f.even);
}

ColourBar looks_bar(const SpeechFigure& f) {
  return bar_of(f.quantity, looks_limits(f), f.ends, f.sequential, f.even);
}

// A bar may be longer than a few rows.
double looks_bar_length(const SpeechFigure& f, double rows) {
  return std::max({rows, kLeastPart, colour_bar_least_length(looks_bar(f), kSpeechTicks, true)});
}

Rect column(const SpeechLayout& l, const TimeGrid& grid, std::int64_t i, double y, double h) {
  const double left = std::max(l.features.x, l.x_of(grid.middle(i) - grid.step / 2));
  const double right = std::min(l.features.right(), l.x_of(grid.middle(i) + grid.step / 2));
  return {left, y, std::max(0.0, right - left), h};
}

void draw_segment(Point a, Point b, const Stroke& stroke, Painter& painter) {
  painter.line(std::vector<Point>{a, b}, stroke);
}

void draw_features(const SpeechFigure& f, const SpeechLayout& l, Painter& painter) {
  const Rect& r = l.features;
  const Limits limits = features_limits(f);
  const double h = r.h / static_cast<double>(f.features.cols);
  for (std::int64_t i = 0; i < f.features.rows; ++i) {
    for (std::int64_t band = 0; band < f.features.cols; ++band) {
      const double y = r.bottom() - static_cast<double>(band + 1) * h;
      painter.rectangle(
          column(l, f.frames, i, y, h),
          colour_of(ColourMap::kViridis, position_of(f.features.at(i, band), limits)));
    }
  }
  painter.frame(r, {kInk, 1, {}});
  // Bands lie evenly, their middles do not.
  double free = r.bottom() + kSpeechTicks;
  for (const int hertz : {50, 100, 200, 500, 1000, 2000, 4000, 8000, 16000}) {
    const auto above =
        std::upper_bound(f.hertz.begin(), f.hertz.end(), static_cast<double>(hertz) - 1e-9);
    if (above == f.hertz.begin() || above == f.hertz.end()) continue;
    const double share = (hertz - *(above - 1)) / (*above - *(above - 1));
    const double band = static_cast<double>(above - f.hertz.begin()) - 0.5 + share;
    const double y = r.bottom() - band * h;
    if (free - y < 1.2 * kSpeechTicks) continue;
    free = y;
    draw_segment({r.x - kSpeechTick, y}, {r.x, y}, {}, painter);
    painter.text({r.x - 2 * kSpeechTick, y}, fmt::format("{}", hertz),
                 {kSpeechTicks, kInk, Align::kRight, false});
  }
  painter.text({kSpeechMargin + kSpeechText / 2, r.centre_y()}, "mel bands (Hz)",
               {kSpeechText, kInk, Align::kCentre, true});
}

// Symbols that were heard, in the order of their first time.
std::vector<std::string> names_of(const std::vector<TimedSymbol>& heard) {
  std::vector<std::string> names;
  for (const TimedSymbol& one : heard) {
    if (std::find(names.begin(), names.end(), one.text) == names.end()) names.push_back(one.text);
  }
  return names;
}

Colour colour_of_symbol(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? kInk : palette_colour(found - names.begin());
}

void draw_curve(const SpeechFigure& f, const SpeechLayout& l, std::int64_t symbol,
                const Stroke& stroke, Painter& painter) {
  const Rect& r = l.probabilities;
  std::vector<Point> points;
  for (std::int64_t t = 0; t < f.probabilities.rows; ++t) {
    const double x = std::clamp(l.x_of(f.tokens.middle(t)), r.x, r.right());
    points.push_back({x, r.bottom() - r.h * f.probabilities.at(t, symbol)});
  }
  painter.line(points, stroke);
}

// Names at their places along a line, those that would meet another left out.
void draw_names(const std::vector<TimedSymbol>& symbols, const SpeechLayout& l, double y,
                const std::vector<std::string>& names, Painter& painter) {
  double free = l.features.x;
  for (const TimedSymbol& one : symbols) {
    const double half = text_width(one.text, kSpeechTicks) / 2;
    const double x = std::clamp(l.x_of(one.peak), l.features.x + half, l.features.right() - half);
    if (x - half < free) continue;
    free = x + half + 3;
    painter.text({x, y}, one.text,
                 {kSpeechTicks, colour_of_symbol(names, one.text), Align::kCentre, false});
  }
}

// The symbol that has the most probability at the peak: its column of probabilities.
std::int64_t column_of(const SpeechFigure& f, const TimedSymbol& one) {
  const double* const row = f.probabilities.values.data() + token_of(f, one) * f.probabilities.cols;
  return std::max_element(row, row + f.probabilities.cols) - row;
}

void draw_probabilities(const SpeechFigure& f, const SpeechLayout& l, Painter& painter) {
  const Rect& r = l.probabilities;
  const std::vector<std::string> names = names_of(f.heard);
  for (const double p : {0.0, 0.5, 1.0}) {
    const double y = r.bottom() - r.h * p;
    draw_segment({r.x, y}, {r.right(), y}, {kGridLine, 0.8, {}}, painter);
    draw_segment({r.x - kSpeechTick, y}, {r.x, y}, {}, painter);
    painter.text({r.x - 2 * kSpeechTick, y}, fixed_label(p, 1),
                 {kSpeechTicks, kInk, Align::kRight, false});
  }
  draw_curve(f, l, f.blank, {kBlankCurve, 1, {3, 2}}, painter);
  std::map<std::int64_t, std::string> drawn;
  for (const TimedSymbol& one : f.heard) drawn.emplace(column_of(f, one), one.text);
  for (const auto& [symbol, name] : drawn)
    draw_curve(f, l, symbol, {colour_of_symbol(names, name), 1.6, {}}, painter);
  painter.frame(r, {kInk, 1, {}});
  draw_names(f.heard, l, r.y - kSymbolsHeight / 2, names, painter);
  painter.text({kSpeechMargin + kSpeechText / 2, r.centre_y()}, "probability",
               {kSpeechText, kInk, Align::kCentre, true});
  painter.text({r.right() + kSpeechGap, r.y - kSymbolsHeight / 2}, "heard", {kSpeechTicks});
  draw_segment({r.right() + kSpeechGap, r.y + 10}, {r.right() + kSpeechGap + 18, r.y + 10},
               {kBlankCurve, 1, {3, 2}}, painter);
  painter.text({r.right() + kSpeechGap + 22, r.y + 10}, "blank", {kSpeechTicks});
}

void draw_said(const SpeechFigure& f, const SpeechLayout& l, Painter& painter) {
  const Rect& r = l.said;
  const std::vector<std::string> names = names_of(f.heard);
  for (const TimedSymbol& one : f.said) {
    const double begin = std::max(r.x, l.x_of(one.begin));
    const double end = std::min(r.right(), l.x_of(one.end));
    painter.rectangle({begin, r.y, end - begin, 3}, colour_of_symbol(names, one.text));
  }
  draw_names(f.said, l, r.y + 4 + kSpeechTicks / 2, names, painter);
  painter.text({r.right() + kSpeechGap, r.y + 4 + kSpeechTicks / 2}, "said", {kSpeechTicks});
}

void draw_looks(const SpeechFigure& f, const SpeechLayout& l, Painter& painter) {
  const Rect& r = l.looks;
  const Limits limits = looks_limits(f);
  const ColourMap palette = palette_of(f.quantity, f.sequential, f.ends);
  for (std::int64_t row = 0; row < f.looks.rows; ++row) {
    const TimedSymbol& one = f.heard[static_cast<std::size_t>(row)];
    const double y = r.y + static_cast<double>(row) * l.row;
    for (std::int64_t t = 0; t < f.looks.cols; ++t)
      painter.rectangle(column(l, f.tokens, t, y, l.row),
                        colour_of(palette, position_of(f.looks.at(row, t), limits)));
    const Rect cell = column(l, f.tokens, token_of(f, one), y, l.row);
    painter.frame({cell.x - 1, cell.y, cell.w + 2, cell.h}, {Colour{0, 190, 60}, 1.5, {}});
    painter.text({r.x - 2 * kSpeechTick, y + l.row / 2},
                 fit_text(one.text, kSpeechTicks, kWidestSymbol),
                 {std::min(kSpeechTicks, l.row), kInk, Align::kRight, false});
  }
  painter.frame(r, {kInk, 1, {}});
  painter.text({kSpeechMargin + kSpeechText / 2, r.centre_y()}, "frame of",
               {kSpeechText, kInk, Align::kCentre, true});
}

// Below the lowest part.
void draw_time(const SpeechLayout& l, const Rect& lowest, Painter& painter) {
  const int target = static_cast<int>(l.features.w / 80);
  for (const Tick& tick : linear_ticks(0, l.seconds, std::max(2, target))) {
    const double x = l.x_of(tick.value);
    draw_segment({x, lowest.bottom()}, {x, lowest.bottom() + kSpeechTick}, {}, painter);
    painter.text({x, lowest.bottom() + kSpeechTick + kSpeechTicks}, tick.label,
                 {kSpeechTicks, kInk, Align::kCentre, false});
  }
  painter.text({l.features.centre_x(), lowest.bottom() + kSpeechTick + 2.4 * kSpeechTicks},
               "time (s)", {kSpeechText, kInk, Align::kCentre, false});
}

}  // namespace

double SpeechLayout::x_of(double second) const {
  return features.x + features.w * second / seconds;
}

SpeechLayout lay_out(const SpeechFigure& f) {
  check(f);
  SpeechLayout l;
  l.seconds = f.seconds;
  const bool has_looks = !f.looks.values.empty();
  const auto rows = static_cast<double>(f.looks.rows);
  if (has_looks) l.row = std::clamp(looks_bar_length(f, 0) / rows, 14.0, 22.0);
  const double left = left_of(f), w = std::clamp(110 * f.seconds, 460.0, 1100.0);
  double bars = colour_bar_breadth(features_bar(f), kFeaturesHeight, kSpeechTicks, true);
  if (has_looks)
    bars = std::max(bars, colour_bar_breadth(looks_bar(f), looks_bar_length(f, rows * l.row),
                                             kSpeechTicks, true));
  l.bars = left + w + kSpeechGap;
  l.width =
      std::ceil(l.bars + std::max(bars, text_width("blank", kSpeechTicks) + 24) + kSpeechMargin);
  for (const std::string& line : f.lines) {
    for (std::string& part : wrap_text(line, kSpeechText, l.width - 2 * kSpeechMargin))
      l.lines.push_back(std::move(part));
  }
  double y = kSpeechMargin + 1.5 * kSpeechTitle +
             static_cast<double>(l.lines.size()) * kLineSpacing * kSpeechText + kSpeechGap / 2;
  l.features = {left, y, w, kFeaturesHeight};
  y = l.features.bottom() + kSpeechGap + kSymbolsHeight;
  l.probabilities = {left, y, w, kProbabilitiesHeight};
  l.said = {left, l.probabilities.bottom() + kSpeechGap / 2, w, f.said.empty() ? 0 : kSaidHeight};
  double bottom = l.said.bottom(), lowest = bottom;
  if (has_looks) {
    l.looks = {left, bottom + kSpeechGap, w, rows * l.row};
    lowest = l.looks.bottom();
    bottom = l.looks.y + looks_bar_length(f, l.looks.h);
  }
  l.height = std::ceil(std::max(bottom, lowest + kSpeechTick + 3 * kSpeechTicks) + kSpeechMargin);
  return l;
}

Canvas render(const SpeechFigure& f) {
  const SpeechLayout l = lay_out(f);
  Canvas canvas(std::llround(l.width * f.factor), std::llround(l.height * f.factor));
  CanvasPainter painter(canvas, f.factor);
  double y = kSpeechMargin + kSpeechTitle / 2;
  painter.text({kSpeechMargin, y}, fit_text(f.title, kSpeechTitle, l.width - 2 * kSpeechMargin),
               {kSpeechTitle});
  y += kSpeechTitle / 2;
  for (const std::string& line : l.lines) {
    y += kLineSpacing * kSpeechText;
    painter.text({kSpeechMargin, y}, fit_text(line, kSpeechText, l.width - 2 * kSpeechMargin),
                 {kSpeechText});
  }
  draw_features(f, l, painter);
  draw_colour_bar(features_bar(f), {l.bars, l.features.y}, l.features.h, kSpeechTicks, true,
                  painter);
  draw_probabilities(f, l, painter);
  if (!f.said.empty()) draw_said(f, l, painter);
  if (l.looks.h > 0) {
    draw_looks(f, l, painter);
    draw_colour_bar(looks_bar(f), {l.bars, l.looks.y}, looks_bar_length(f, l.looks.h), kSpeechTicks,
                    true, painter);
  }
  draw_time(l, l.looks.h > 0 ? l.looks : f.said.empty() ? l.probabilities : l.said, painter);
  return canvas;
}

}  // namespace fovea::visualise
