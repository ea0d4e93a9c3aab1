// One small drawing interface with two outputs, pixels and SVG, so that a figure is laid out once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

/// Left, top, width, height.
struct Rect {
  double x = 0;
  double y = 0;
  double w = 0;
  double h = 0;

  double right() const { return x + w; }
  double bottom() const { return y + h; }
  double centre_x() const { return x + w / 2; }
  double centre_y() const { return y + h / 2; }
};

struct Stroke {
  Colour colour = kInk;
  double width = 1;
  std::vector<double> dash;  // lengths drawn and left out in turn; empty is a solid line
};

enum class Align { kLeft, kCentre, kRight };

struct TextStyle {
  double size = 12;
  Colour colour = kInk;
  Align align = Align::kLeft;  // along the text's own direction
  bool upwards = false;        // turned by 90 degrees counter-clockwise
};

/// From one line of text to the next, in text sizes.
inline constexpr double kLineSpacing = 1.25;

/// Coordinates are units of the figure: one CSS pixel in SVG, `scale` pixels on a canvas.
class Painter {
 public:
  Painter() = default;
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;
  virtual ~Painter() = default;

  virtual void rectangle(const Rect& rect, Colour colour) = 0;
  virtual void line(std::span<const Point> points, const Stroke& stroke) = 0;
  virtual void polygon(std::span<const Point> points, Colour colour, double opacity) = 0;
  /// `anchor` is on the line through the middle of the capital letters; `align` says which end of
  /// the text, or its centre, lies there.
  virtual void text(Point anchor, std::string_view text, const TextStyle& style) = 0;

  void frame(const Rect& rect, const Stroke& stroke);
};

/// Draws onto `canvas`, which must outlive it; rectangles are snapped to whole pixels, so that
/// neighbours meet without a seam, and axis-parallel lines to pixel centres.
class CanvasPainter final : public Painter {
 public:
  CanvasPainter(Canvas& canvas, double scale) : canvas_(canvas), scale_(scale) {}
  void rectangle(const Rect& rect, Colour colour) override;
  void line(std::span<const Point> points, const Stroke& stroke) override;
  void polygon(std::span<const Point> points, Colour colour, double opacity) override;
  void text(Point anchor, std::string_view text, const TextStyle& style) override;

 private:
  Canvas& canvas_;
  double scale_;
};

/// Collects SVG elements.
class SvgPainter final : public Painter {
 public:
  void rectangle(const Rect& rect, Colour colour) override;
  void line(std::span<const Point> points, const Stroke& stroke) override;
  void polygon(std::span<const Point> points, Colour colour, double opacity) override;
  void text(Point anchor, std::string_view text, const TextStyle& style) override;
  /// A complete SVG document of the given size on a white background.
  std::string document(double width, double height) const;

 private:
  std::string elements_;
};

/// `text` cut to `width` with an ellipsis where it is too long.
std::string fit_text(std::string_view text, double size, double width);

/// `text` broken at spaces into lines of at most `width`; a longer word keeps a line of its own.
std::vector<std::string> wrap_text(std::string_view text, double size, double width);

}  // namespace fovea::visualise
