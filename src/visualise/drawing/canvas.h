// A picture of 8-bit RGB pixels and what can be drawn on it: blocks, anti-aliased lines and
// polygons, text in the built-in font; written as PNG.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::visualise {

struct Colour {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
  bool operator==(const Colour&) const = default;
};

inline constexpr Colour kWhite{255, 255, 255};
inline constexpr Colour kInk{34, 34, 34};          // text and axes
inline constexpr Colour kGridLine{224, 224, 224};  // behind curves
inline constexpr Colour kMissing{200, 200, 200};   // NaN, empty cells

/// A position in pixels, x to the right and y down; pixel (i, j) covers [i, i+1) x [j, j+1).
struct Point {
  double x = 0;
  double y = 0;
};

/// (height, width, 3) bytes, row-major. Everything drawn outside is cut off.
struct Canvas {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> rgb;

  Canvas() = default;
  /// Throws ShapeError for negative sizes and for more than 2^28 pixels.
  Canvas(std::int64_t width, std::int64_t height, Colour background = kWhite);

  bool contains(std::int64_t x, std::int64_t y) const {
    return x >= 0 && y >= 0 && x < width && y < height;
  }
  /// The pixel must be inside.
  Colour at(std::int64_t x, std::int64_t y) const;
  void set(std::int64_t x, std::int64_t y, Colour colour);
  /// Mixes `colour` into a pixel with the given opacity in [0, 1]; does nothing outside.
  void blend(std::int64_t x, std::int64_t y, Colour colour, double opacity);

  void fill(Colour colour);
  void fill_rectangle(std::int64_t x, std::int64_t y, std::int64_t w, std::int64_t h, Colour colour,
                      double opacity = 1);
  /// A frame of `thickness` pixels inside the rectangle.
  void frame(std::int64_t x, std::int64_t y, std::int64_t w, std::int64_t h, Colour colour,
             std::int64_t thickness = 1);
  /// Copies `source` with its top left corner at (x, y).
  void blit(const Canvas& source, std::int64_t x, std::int64_t y);
};

/// A picture from the (height, width, channels) bytes of an image, 1 or 3 channels.
Canvas canvas_from_bytes(std::span<const std::uint8_t> bytes, std::int64_t height,
                         std::int64_t width, std::int64_t channels);

/// An anti-aliased line through `points` with round joints and ends, each pixel blended once, so
/// that a translucent line has no darker joints. Points must be finite.
void draw_polyline(Canvas& canvas, std::span<const Point> points, double width, Colour colour,
                   double opacity = 1);
/// An anti-aliased polygon, even-odd rule. Points must be finite.
void fill_polygon(Canvas& canvas, std::span<const Point> points, Colour colour, double opacity = 1);

/// UTF-8 text starting at `origin` on its baseline, `size` pixels per em; `upwards` turns it by 90
/// degrees counter-clockwise. Bytes that are not UTF-8 are drawn as the replacement character.
void draw_text(Canvas& canvas, Point origin, std::string_view text, double size, Colour colour,
               bool upwards = false);
/// Width of the text in pixels, with kerning. The same for PNG and SVG.
double text_width(std::string_view text, double size);
/// Height of capital letters and digits: what centres a line of text, in ems.
inline constexpr double kCapHeight = 0.729;

/// The bytes of a PNG file.
std::string to_png(const Canvas& canvas);
/// Writes the PNG in one rename. Throws FileError.
void write_png(const std::filesystem::path& path, const Canvas& canvas);

}  // namespace fovea::visualise
