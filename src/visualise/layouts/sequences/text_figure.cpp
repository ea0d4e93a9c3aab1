#include "visualise/layouts/sequences/text_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "schema/json/utf8.h"
#include "visualise/drawing/colour_bar.h"
#include "visualise/drawing/painter.h"

namespace fovea::visualise {
namespace {

constexpr double kMargin = 16;
constexpr double kColumnGap = 28;
constexpr double kLineHeight = 1.7;    // in text sizes
constexpr double kBackground = 1.4;    // height of a token's background, in text sizes
constexpr double kPadding = 0.22;      // at both ends of a token, in text sizes
constexpr double kTokenGap = 0.16;     // between tokens, in text sizes
constexpr std::size_t kLongest = 400;  // bytes of a token that are looked at
constexpr double kDot = 0.1;           // of the line below an unknown token, in text sizes
constexpr double kSmaller = 2;         // notes and numbers against tokens, in units

struct PlacedToken {
  Rect rect;
  std::string text;
};

struct Column {
  std::vector<PlacedToken> tokens;  // from (0, 0)
  std::vector<std::string> notes;   // lines below them
  double tokens_height = 0, height = 0;
};

double note_spacing(const TextFigure& f) { return kLineSpacing * (f.text_size - kSmaller); }

// What a reader must know of the network's view of the text.
std::string note_of(const TextPanel& panel) {
  std::string note;
  if (const std::size_t unknown = panel.unknown.size(); unknown > 0)
    note = fmt::format("dotted: {} of {} words {} not in the vocabulary", unknown,
                       panel.tokens.size(), unknown == 1 ? "is" : "are");
  if (panel.cut > 0)
    note += fmt::format("{}{} more word{} behind these {} cut", note.empty() ? "" : "; ", panel.cut,
                        panel.cut == 1 ? "" : "s", panel.cut == 1 ? "is" : "are");
  return note;
}

void check(const TextFigure& f) {
  FOVEA_CHECK(!f.panels.empty() && f.columns >= 1, ShapeError,
              fmt::format("text figure: {} panels in {} columns; expected at least one of both",
                          f.panels.size(), f.columns));
  FOVEA_CHECK(f.text_size >= 6 && f.text_size <= 100 && f.column_width >= 4 * f.text_size &&
                  f.factor >= 1 && f.factor <= 8,
              ConfigError,
              fmt::format("text figure: column width {}, text size {}, factor {}; expected a size "
                          "in [6, 100], a width of 4 sizes or more and a factor in [1, 8]",
                          f.column_width, f.text_size, f.factor));
  for (const TextPanel& panel : f.panels) {
    FOVEA_CHECK(!panel.tokens.empty() && panel.tokens.size() == panel.weights.size(), ShapeError,
                fmt::format("text figure: {} has {} tokens and {} weights; expected as many of "
                            "both, and one or more",
                            panel.name, panel.tokens.size(), panel.weights.size()));
    for (const std::size_t place : panel.unknown) {
      FOVEA_CHECK(place < panel.tokens.size(), ShapeError,
                  fmt::format("text figure: {}: unknown token {} of {}", panel.name, place,
                              panel.tokens.size()));
    }
  }
}

Column flow(const TextPanel& panel, const TextFigure& f) {
  const double size = f.text_size;
  Column column;
  double x = 0, y = 0;
  for (const std::string& token : panel.tokens) {
    const double room = f.column_width - 2 * kPadding * size;
    const std::string text = fit_text(visible_token(token), size, room);
    const double width = text_width(text, size) + 2 * kPadding * size;
    if (x > 0 && x + width > f.column_width) {
      x = 0;
      y += kLineHeight * size;
    }
    column.tokens.push_back({{x, y, width, kBackground * size}, text});
    x += width + kTokenGap * size;
    if (token.find('\n') != std::string::npos) x = f.column_width;  // the next begins a line
  }
  column.tokens_height = y + kLineHeight * size;
  if (const std::string note = note_of(panel); !note.empty())
    column.notes = wrap_text(note, size - kSmaller, f.column_width);
  column.height = column.tokens_height + static_cast<double>(column.notes.size()) * note_spacing(f);
  return column;
}

void draw_tokens(const TextPanel& panel, const Column& column, const TextFigure& f,
                 const Limits& limits, Point origin, Painter& painter) {
  const ColourMap palette = palette_of(panel.quantity, f.sequential, f.scale.ends);
  for (std::size_t i = 0; i < column.tokens.size(); ++i) {
    Rect rect = column.tokens[i].rect;
    rect.x += origin.x;
    rect.y += origin.y;
    const Colour colour = colour_of(palette, position_of(panel.weights[i], limits));
    painter.rectangle(rect, colour);
    painter.text({rect.centre_x(), rect.centre_y()}, column.tokens[i].text,
                 {f.text_size, readable_on(colour), Align::kCentre, false});
    if (!std::ranges::binary_search(panel.unknown, i)) continue;
    const double inside = kPadding * f.text_size, y = rect.bottom() - kDot * f.text_size;
    const std::array<Point, 2> ends = {Point{rect.x + inside, y}, Point{rect.right() - inside, y}};
    painter.line(
        ends, {readable_on(colour), kDot * f.text_size, {kDot * f.text_size, kDot * f.text_size}});
  }
}

void draw_notes(const Column& column, const TextFigure& f, Point origin, Painter& painter) {
  double y = origin.y + column.tokens_height + note_spacing(f) / 2;
  for (const std::string& line : column.notes) {
    painter.text({origin.x, y}, line, {f.text_size - kSmaller, kInk, Align::kLeft, false});
    y += note_spacing(f);
  }
}

std::vector<HeatColumn> heats_of(const TextFigure& f) {
  std::vector<HeatColumn> heats;
  for (const TextPanel& panel : f.panels)
    heats.push_back({panel.name, panel.quantity, {panel.weights}, panel.even});
  return heats;
}

}  // namespace

std::string visible_token(std::string_view token) {
  constexpr std::uint32_t kControlPictures = 0x2400, kDelete = 0x2421;
  if (token.empty()) return "∅";
  token = token.substr(0, kLongest);
  const std::size_t first = token.find_first_not_of(' ');
  const std::size_t last = token.find_last_not_of(' ');
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const auto byte = static_cast<unsigned char>(token[i]);
    if (byte == '\n') {
      text += "↵";
    } else if (byte < 0x20 || byte == 0x7F) {
      schema::append_utf8(text, byte == 0x7F ? kDelete : kControlPictures + byte);
    } else if (byte == ' ' && (first == std::string_view::npos || i < first || i > last)) {
      text += "·";
    } else {
      text += token[i];
    }
  }
  return text;
}

Canvas render(const TextFigure& figure) {
  check(figure);
  const double size = figure.text_size;
  const std::vector<HeatColumn> heats = heats_of(figure);
  const auto limits = limits_of(heats, figure.scale);
  std::vector<ColourBar> bars;
  double bar_height = 0;
  for (std::size_t i = 0; i < heats.size(); ++i) {
    bars.push_back(bar_of(heats[i], limits[i], figure.scale, figure.sequential, heats.size()));
    bar_height = std::max(
        bar_height, colour_bar_breadth(bars.back(), figure.column_width, size - kSmaller, false));
  }
  std::vector<Column> columns;
  std::vector<double> tallest;  // text of each row
  const auto across = static_cast<std::size_t>(figure.columns);
  for (const TextPanel& panel : figure.panels) {
    if (columns.size() % across == 0) tallest.push_back(0);
    columns.push_back(flow(panel, figure));
    tallest.back() = std::max(tallest.back(), columns.back().height);
  }
  const auto count = static_cast<double>(std::min(columns.size(), across));
  const double width = 2 * kMargin + count * figure.column_width + (count - 1) * kColumnGap;
  const double title = figure.title.empty() ? 0 : 2 * size;
  const double name = 1.8 * size, below = 0.6 * size;  // above and below a text
  double height = kMargin + title;
  for (const double text : tallest) height += name + text + below + bar_height + kMargin;
  Canvas canvas(std::llround(width * figure.factor), std::llround(height * figure.factor));
  CanvasPainter painter(canvas, figure.factor);
  painter.text({kMargin, kMargin + size / 2}, fit_text(figure.title, size + 2, width - 2 * kMargin),
               {size + 2, kInk, Align::kLeft, false});
  double y = kMargin + title;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const TextPanel& panel = figure.panels[i];
    const double x = kMargin + static_cast<double>(i % across) * (figure.column_width + kColumnGap);
    const double text = tallest[i / across];
    painter.text({x, y + size / 2}, fit_text(panel.name, size + 1, figure.column_width),
                 {size + 1, kInk, Align::kLeft, false});
    draw_tokens(panel, columns[i], figure, limits[i][0], {x, y + name}, painter);
    draw_notes(columns[i], figure, {x, y + name}, painter);
    draw_colour_bar(bars[i], {x, y + name + text + below}, figure.column_width, size - kSmaller,
                    false, painter);
    if (i % across + 1 == across) y += name + text + below + bar_height + kMargin;
  }
  return canvas;
}

}  // namespace fovea::visualise
