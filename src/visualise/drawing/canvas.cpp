#include "visualise/drawing/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fovea::visualise {
namespace {

std::uint8_t mix(std::uint8_t below, std::uint8_t above, double opacity) {
  return static_cast<std::uint8_t>(std::floor(below + (above - below) * opacity + 0.5));
}

// Pixels [x0, x1) x [y0, y1), cut to a canvas.
struct Box {
  std::int64_t x0, y0, x1, y1;
};

Box clipped(const Canvas& canvas, std::int64_t x, std::int64_t y, std::int64_t w, std::int64_t h) {
  return {std::clamp<std::int64_t>(x, 0, canvas.width),
          std::clamp<std::int64_t>(y, 0, canvas.height),
          std::clamp<std::int64_t>(x + w, 0, canvas.width),
          std::clamp<std::int64_t>(y + h, 0, canvas.height)};
}

// The pixels that points, widened by `margin`, can touch. Clamped as doubles, because a far point
// need not fit an integer.
Box bounds(const Canvas& canvas, std::span<const Point> points, double margin) {
  const auto [left, right] =
      std::minmax_element(points.begin(), points.end(), [](Point a, Point b) { return a.x < b.x; });
  const auto [top, bottom] =
      std::minmax_element(points.begin(), points.end(), [](Point a, Point b) { return a.y < b.y; });
  const auto pixel = [](double v, std::int64_t size) {
    return static_cast<std::int64_t>(std::clamp(v, 0.0, static_cast<double>(size)));
  };
  return {pixel(std::floor(left->x - margin), canvas.width),
          pixel(std::floor(top->y - margin), canvas.height),
          pixel(std::ceil(right->x + margin), canvas.width),
          pixel(std::ceil(bottom->y + margin), canvas.height)};
}

double distance_to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double length2 = dx * dx + dy * dy;
  double t = length2 > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length2 : 0;
  t = std::clamp(t, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

// Adds what the span [from, to) covers of each pixel of a row that begins at pixel `x0`.
void add_span(std::vector<double>& coverage, std::int64_t x0, double from, double to,
              double weight) {
  const double begin = static_cast<double>(x0);
  from = std::clamp(from - begin, 0.0, static_cast<double>(coverage.size()));
  to = std::clamp(to - begin, 0.0, static_cast<double>(coverage.size()));
  for (auto i = static_cast<std::size_t>(from); i < coverage.size(); ++i) {
    const double left = std::max(from, static_cast<double>(i));
    const double right = std::min(to, static_cast<double>(i + 1));
    if (right <= left) break;
    coverage[i] += weight * (right - left);
  }
}

std::vector<double> crossings(std::span<const Point> points, double y) {
  std::vector<double> xs;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point a = points[i], b = points[(i + 1) % points.size()];
    if ((a.y <= y) != (b.y <= y)) xs.push_back(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x));
  }
  std::sort(xs.begin(), xs.end());
  return xs;
}

}  // namespace

Canvas::Canvas(std::int64_t w, std::int64_t h, Colour background) : width(w), height(h) {
  constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;
  FOVEA_CHECK(w >= 0 && h >= 0 && (w == 0 || h <= kMaxPixels / w), ShapeError,
              fmt::format("canvas: size {} x {}; expected at most {} pixels", w, h, kMaxPixels));
  rgb.resize(static_cast<std::size_t>(w * h * 3));
  fill(background);
}

Colour Canvas::at(std::int64_t x, std::int64_t y) const {
  const auto i = static_cast<std::size_t>((y * width + x) * 3);
  return {rgb[i], rgb[i + 1], rgb[i + 2]};
}

void Canvas::set(std::int64_t x, std::int64_t y, Colour colour) {
  const auto i = static_cast<std::size_t>((y * width + x) * 3);
  rgb[i] = colour.r;
  rgb[i + 1] = colour.g;
  rgb[i + 2] = colour.b;
}

void Canvas::blend(std::int64_t x, std::int64_t y, Colour colour, double opacity) {
  if (!contains(x, y) || opacity <= 0) return;
  const Colour below = at(x, y);
  opacity = std::min(opacity, 1.0);
  set(x, y,
      {mix(below.r, colour.r, opacity), mix(below.g, colour.g, opacity),
       mix(below.b, colour.b, opacity)});
}

void Canvas::fill(Colour colour) { fill_rectangle(0, 0, width, height, colour); }

void Canvas::fill_rectangle(std::int64_t x, std::int64_t y, std::int64_t w, std::int64_t h,
                            Colour colour, double opacity) {
  const Box box = clipped(*this, x, y, w, h);
  for (std::int64_t row = box.y0; row < box.y1; ++row) {
    for (std::int64_t col = box.x0; col < box.x1; ++col) blend(col, row, colour, opacity);
  }
}

void Canvas::frame(std::int64_t x, std::int64_t y, std::int64_t w, std::int64_t h, Colour colour,
                   std::int64_t thickness) {
  fill_rectangle(x, y, w, thickness, colour);
  fill_rectangle(x, y + h - thickness, w, thickness, colour);
  fill_rectangle(x, y + thickness, thickness, h - 2 * thickness, colour);
  fill_rectangle(x + w - thickness, y + thickness, thickness, h - 2 * thickness, colour);
}

void Canvas::blit(const Canvas& source, std::int64_t x, std::int64_t y) {
  const Box box = clipped(*this, x, y, source.width, source.height);
  for (std::int64_t row = box.y0; row < box.y1; ++row) {
    for (std::int64_t col = box.x0; col < box.x1; ++col) set(col, row, source.at(col - x, row - y));
  }
}

Canvas canvas_from_bytes(std::span<const std::uint8_t> bytes, std::int64_t height,
                         std::int64_t width, std::int64_t channels) {
  Canvas canvas(width, height);
  FOVEA_CHECK((channels == 1 || channels == 3) && std::ssize(bytes) == height * width * channels,
              ShapeError,
              fmt::format("canvas: {} bytes for ({}, {}, {}); expected (h, w, 1) or (h, w, 3)",
                          bytes.size(), height, width, channels));
  for (std::size_t i = 0; i < canvas.rgb.size(); ++i) {
    canvas.rgb[i] = channels == 3 ? bytes[i] : bytes[i / 3];
  }
  return canvas;
}

void draw_polyline(Canvas& canvas, std::span<const Point> points, double width, Colour colour,
                   double opacity) {
  if (points.empty()) return;
  const double reach = width / 2 + 0.5;
  const Box all = bounds(canvas, points, reach);
  if (all.x0 >= all.x1 || all.y0 >= all.y1) return;
  const std::int64_t columns = all.x1 - all.x0;
  // The largest coverage over the segments, so that pixels near a joint are not blended twice.
  std::vector<float> coverage(static_cast<std::size_t>(columns * (all.y1 - all.y0)), 0.0F);
  for (std::size_t i = 0; i < std::max<std::size_t>(points.size() - 1, 1); ++i) {
    const Point a = points[i], b = points[std::min(i + 1, points.size() - 1)];
    const std::vector<Point> ends = {a, b};
    const Box box = bounds(canvas, ends, reach);
    for (std::int64_t y = box.y0; y < box.y1; ++y) {
      for (std::int64_t x = box.x0; x < box.x1; ++x) {
        const Point centre{static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5};
        const double covered = std::min({1.0, width, reach - distance_to_segment(centre, a, b)});
        float& pixel = coverage[static_cast<std::size_t>((y - all.y0) * columns + x - all.x0)];
        pixel = std::max(pixel, static_cast<float>(covered));
      }
    }
  }
  for (std::int64_t y = all.y0; y < all.y1; ++y) {
    for (std::int64_t x = all.x0; x < all.x1; ++x) {
      const auto i = static_cast<std::size_t>((y - all.y0) * columns + x - all.x0);
      canvas.blend(x, y, colour, opacity * static_cast<double>(coverage[i]));
    }
  }
}

void fill_polygon(Canvas& canvas, std::span<const Point> points, Colour colour, double opacity) {
  constexpr int kSubRows = 8;  // vertical samples per pixel; horizontally coverage is exact
  if (points.size() < 3) return;
  const Box box = bounds(canvas, points, 0);
  if (box.x0 >= box.x1) return;
  for (std::int64_t y = box.y0; y < box.y1; ++y) {
    std::vector<double> coverage(static_cast<std::size_t>(box.x1 - box.x0), 0.0);
    for (int sub = 0; sub < kSubRows; ++sub) {
      const std::vector<double> xs =
          crossings(points, static_cast<double>(y) + (sub + 0.5) / kSubRows);
      for (std::size_t i = 0; i + 1 < xs.size(); i += 2) {
        add_span(coverage, box.x0, xs[i], xs[i + 1], 1.0 / kSubRows);
      }
    }
    for (std::int64_t x = box.x0; x < box.x1; ++x) {
      canvas.blend(x, y, colour, opacity * coverage[static_cast<std::size_t>(x - box.x0)]);
    }
  }
}

}  // namespace fovea::visualise
