#include "visualise/layouts/sequences/token_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/drawing/colour_bar.h"
#include "visualise/layouts/sequences/text_figure.h"

namespace fovea::visualise {
namespace {

constexpr double kMatrixMargin = 14, kMatrixGap = 6;
constexpr double kMatrixTitle = 14, kMatrixText = 11;
constexpr double kMatrixSide =
    620;  // of the matrix, where cells are neither very large nor very small
constexpr double kWidestToken = 110, kWidestNote = 170;
constexpr Colour kNoteInk{90, 90, 90};

void check(const TokenMatrix& f) {
  const auto n = std::ssize(f.tokens);
  FOVEA_CHECK(n >= 1 && f.weights.rows == n && f.weights.cols == n &&
                  std::ssize(f.weights.values) == n * n &&
                  (f.notes.empty() || f.notes.size() == f.tokens.size()),
              ShapeError,
              fmt::format("token matrix: {} tokens, {} notes and {} x {} weights; expected as many "
                          "of each",
                          n, f.notes.size(), f.weights.rows, f.weights.cols));
  FOVEA_CHECK(f.factor >= 1 && f.factor <= 8, ConfigError,
              fmt::format("token matrix: factor {}; expected 1 to 8", f.factor));
}

std::string name_of_token(const std::string& token) {
  return fit_text(visible_token(token), kMatrixText, kWidestToken);
}

double widest(const std::vector<std::string>& texts, double most = kWidestToken) {
  double width = 0;
  for (const std::string& text : texts) width = std::max(width, text_width(text, kMatrixText));
  return std::min(width, most);
}

std::vector<std::string> names_of(const TokenMatrix& f) {
  std::vector<std::string> names;
  for (const std::string& token : f.tokens) names.push_back(name_of_token(token));
  return names;
}

// Those of tokens before the one that looks.
Limits limits(const TokenMatrix& f) {
  std::vector<double> seen;
  for (std::int64_t row = 0; row < f.weights.rows; ++row) {
    for (std::int64_t column = 0; column < row; ++column) seen.push_back(f.weights.at(row, column));
  }
  if (seen.empty()) seen = f.weights.values;
  return limits_of(f.quantity, seen, f.ends, f.even);
}

ColourBar bar(const TokenMatrix& f) {
  return bar_of(f.quantity, limits(f), f.ends, f.sequential, f.even);
}

}  // namespace

TokenMatrixLayout lay_out(const TokenMatrix& f) {
  check(f);
  TokenMatrixLayout l;
  const auto n = static_cast<double>(f.tokens.size());
  l.cell = std::clamp(kMatrixSide / n, 5.0, 22.0);
  l.stride = static_cast<std::size_t>(std::ceil(1.1 * kMatrixText / l.cell));
  const double names = widest(names_of(f));
  const double notes = f.notes.empty() ? 0 : widest(f.notes, kWidestNote) + 2 * kMatrixGap;
  const double side = l.cell * n;
  l.matrix = {kMatrixMargin + 1.6 * kMatrixText + names + kMatrixGap,
              kMatrixMargin + 1.8 * kMatrixTitle, side, side};
  l.bar = l.matrix.right() + notes + 2 * kMatrixGap;
  l.bar_length =
      std::max({140.0, std::min(side, 320.0), colour_bar_least_length(bar(f), kMatrixText, true)});
  l.width = std::max(l.bar + colour_bar_breadth(bar(f), l.bar_length, kMatrixText, true), 300.0) +
            kMatrixMargin;
  const double below = l.matrix.bottom() + kMatrixGap + names + 1.8 * kMatrixText;
  l.height = std::max(below, l.matrix.y + l.bar_length) + kMatrixMargin;
  return l;
}

Canvas render(const TokenMatrix& f) {
  const TokenMatrixLayout l = lay_out(f);
  Canvas canvas(std::llround(l.width * f.factor), std::llround(l.height * f.factor));
  CanvasPainter painter(canvas, f.factor);
  const std::vector<std::string> names = names_of(f);
  const Limits ends = limits(f);
  const ColourMap palette = palette_of(f.quantity, f.sequential, f.ends);
  const Rect& m = l.matrix;
  painter.text({kMatrixMargin, kMatrixMargin + kMatrixTitle / 2},
               fit_text(f.title, kMatrixTitle, l.width - 2 * kMatrixMargin), {kMatrixTitle});
  for (std::size_t row = 0; row < names.size(); ++row) {
    const double y = m.y + l.cell * static_cast<double>(row);
    for (std::size_t column = 0; column <= row; ++column) {
      const double weight =
          f.weights.at(static_cast<std::int64_t>(row), static_cast<std::int64_t>(column));
      painter.rectangle({m.x + l.cell * static_cast<double>(column), y, l.cell, l.cell},
                        colour_of(palette, position_of(weight, ends)));
    }
    if (row % l.stride != 0) continue;
    const double middle = m.y + l.cell * (static_cast<double>(row) + 0.5);
    const double along = m.x + l.cell * (static_cast<double>(row) + 0.5);
    painter.text({m.x - kMatrixGap, middle}, names[row], {kMatrixText, kInk, Align::kRight, false});
    painter.text({along, m.bottom() + kMatrixGap}, names[row],
                 {kMatrixText, kInk, Align::kRight, true});
    if (f.notes.empty()) continue;
    painter.text({m.right() + kMatrixGap, middle}, fit_text(f.notes[row], kMatrixText, kWidestNote),
                 {kMatrixText, kNoteInk});
  }
  painter.line(std::vector<Point>{{m.x, m.y}, {m.x, m.bottom()}, {m.right(), m.bottom()}}, {});
  painter.text({kMatrixMargin + kMatrixText / 2, m.centre_y()}, "this token looks",
               {kMatrixText, kInk, Align::kCentre, true});
  painter.text({m.centre_x(), m.bottom() + kMatrixGap + widest(names) + 1.2 * kMatrixText},
               "at this one", {kMatrixText, kInk, Align::kCentre, false});
  draw_colour_bar(bar(f), {l.bar, m.y}, l.bar_length, kMatrixText, true, painter);
  return canvas;
}

}  // namespace fovea::visualise
