#include "visualise/drawing/painter.h"

#include <algorithm>
#include <cmath>

namespace fovea::visualise {
namespace {

// Cuts a line into the drawn pieces of a dash pattern.
std::vector<std::vector<Point>> dashes(std::span<const Point> points,
                                       const std::vector<double>& dash) {
  std::vector<std::vector<Point>> pieces;
  std::size_t phase = 0;
  double left = dash[0];
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    Point from = points[i];
    const Point to = points[i + 1];
    double remaining = std::hypot(to.x - from.x, to.y - from.y);
    while (remaining > 0) {
      const double step = std::min(left, remaining);
      const double t = step / remaining;
      const Point next{from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)};
      if (phase % 2 == 0) {
        if (pieces.empty() || pieces.back().empty()) pieces.push_back({from});
        pieces.back().push_back(next);
      }
      from = next;
      remaining -= step;
      left -= step;
      if (left <= 0) {
        // An empty piece marks the gap, so that the next drawn length begins a line of its own.
        if (phase % 2 == 0) pieces.emplace_back();
        ++phase;
        left = dash[phase % dash.size()];
      }
    }
  }
  std::erase_if(pieces, [](const auto& piece) { return piece.empty(); });
  return pieces;
}

}  // namespace

void Painter::frame(const Rect& r, const Stroke& stroke) {
  const std::vector<Point> corners = {
      {r.x, r.y}, {r.right(), r.y}, {r.right(), r.bottom()}, {r.x, r.bottom()}, {r.x, r.y}};
  line(corners, stroke);
}

void CanvasPainter::rectangle(const Rect& rect, Colour colour) {
  const auto pixel = [&](double v) { return static_cast<std::int64_t>(std::lround(v * scale_)); };
  const std::int64_t x = pixel(rect.x), y = pixel(rect.y);
  canvas_.fill_rectangle(x, y, pixel(rect.right()) - x, pixel(rect.bottom()) - y, colour);
}

void CanvasPainter::line(std::span<const Point> points, const Stroke& stroke) {
  const double width = std::max(1.0, stroke.width * scale_);
  std::vector<Point> scaled;
  for (const Point p : points) scaled.push_back({p.x * scale_, p.y * scale_});
  // An axis-parallel line is crisp when its edges lie between pixels.
  const double shift = std::lround(width) % 2 == 1 ? 0.5 : 0.0;
  const auto snap = [&](double v) { return std::round(v - shift) + shift; };
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    if (points[i].x == points[i + 1].x) scaled[i].x = scaled[i + 1].x = snap(scaled[i].x);
    if (points[i].y == points[i + 1].y) scaled[i].y = scaled[i + 1].y = snap(scaled[i].y);
  }
  if (stroke.dash.empty()) {
    draw_polyline(canvas_, scaled, width, stroke.colour);
    return;
  }
  std::vector<double> lengths;
  for (const double length : stroke.dash) lengths.push_back(length * scale_);
  for (const auto& piece : dashes(scaled, lengths)) {
    draw_polyline(canvas_, piece, width, stroke.colour);
  }
}

void CanvasPainter::polygon(std::span<const Point> points, Colour colour, double opacity) {
  std::vector<Point> scaled;
  for (const Point p : points) scaled.push_back({p.x * scale_, p.y * scale_});
  fill_polygon(canvas_, scaled, colour, opacity);
}

void CanvasPainter::text(Point anchor, std::string_view text, const TextStyle& style) {
  const double size = style.size * scale_;
  const double share = style.align == Align::kLeft ? 0 : style.align == Align::kCentre ? 0.5 : 1;
  const double back = share * text_width(text, size);
  const double drop = kCapHeight / 2 * size;
  Point origin{anchor.x * scale_, anchor.y * scale_};
  if (style.upwards) {
    origin.x += drop;
    origin.y += back;
  } else {
    origin.x -= back;
    origin.y += drop;
  }
  draw_text(canvas_, origin, text, size, style.colour, style.upwards);
}

std::string fit_text(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  while (!text.empty()) {
    // Continuation bytes go with the character they belong to.
    while (text.size() > 1 && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) {
      text.remove_suffix(1);
    }
    text.remove_suffix(1);
    const std::string cut = std::string(text) + "…";
    if (text_width(cut, size) <= width) return cut;
  }
  return "…";
}

std::vector<std::string> wrap_text(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!lines.empty() && text_width(lines.back() + " " + word, size) <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

}  // namespace fovea::visualise
