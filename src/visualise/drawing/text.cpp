// Text in DejaVu Sans, built into the library (fovea_embed in CMake), through stb_truetype.
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "visualise/drawing/canvas.h"

#define STBTT_STATIC
#define STB_TRUETYPE_IMPLEMENTATION
#include <stb_truetype.h>

extern "C" const unsigned char fovea_font_begin[];

namespace fovea::visualise {
namespace {

const stbtt_fontinfo& font() {
  static const std::unique_ptr<const stbtt_fontinfo> info = [] {
    auto loaded = std::make_unique<stbtt_fontinfo>();
    FOVEA_CHECK(stbtt_InitFont(loaded.get(), fovea_font_begin, 0) != 0, FileError,
                "font: the built-in font cannot be read");
    return loaded;
  }();
  return *info;
}

// The next code point of UTF-8 text; anything malformed yields U+FFFD and skips one byte.
int next_code_point(std::string_view& text) {
  constexpr int kReplacement = 0xFFFD;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80             ? 1U
                             : (first & 0xE0) == 0xC0 ? 2U
                             : (first & 0xF0) == 0xE0 ? 3U
                             : (first & 0xF8) == 0xF0 ? 4U
                                                      : 0U;
  int code = length <= 1 ? first : first & (0x7F >> length);
  bool good = length > 0 && length <= text.size();
  for (std::size_t i = 1; good && i < length; ++i) {
    good = (byte(i) & 0xC0) == 0x80;
    code = code << 6 | (byte(i) & 0x3F);
  }
  text.remove_prefix(good ? length : 1);
  return good && code >= 0x20 ? code : kReplacement;
}

// Calls `place(glyph, x)` for each glyph with its pen position, in pixels; returns the final one.
template <class Place>
double layout(std::string_view text, double size, Place place) {
  const double scale =
      static_cast<double>(stbtt_ScaleForMappingEmToPixels(&font(), static_cast<float>(size)));
  double x = 0;
  int previous = 0;
  while (!text.empty()) {
    const int glyph = stbtt_FindGlyphIndex(&font(), next_code_point(text));
    if (previous != 0) x += scale * stbtt_GetGlyphKernAdvance(&font(), previous, glyph);
    place(glyph, x);
    int advance = 0, bearing = 0;
    stbtt_GetGlyphHMetrics(&font(), glyph, &advance, &bearing);
    x += scale * advance;
    previous = glyph;
  }
  return x;
}

// Coverage of one glyph; its first pixel lies at (left, top) from the baseline's integer origin.
struct GlyphMask {
  int left = 0, top = 0, width = 0, height = 0;
  std::vector<unsigned char> coverage;
};

GlyphMask rasterise(int glyph, double size, double shift_x, double shift_y) {
  const float scale = stbtt_ScaleForMappingEmToPixels(&font(), static_cast<float>(size));
  const auto sx = static_cast<float>(shift_x), sy = static_cast<float>(shift_y);
  GlyphMask mask;
  int right = 0, bottom = 0;
  stbtt_GetGlyphBitmapBoxSubpixel(&font(), glyph, scale, scale, sx, sy, &mask.left, &mask.top,
                                  &right, &bottom);
  mask.width = right - mask.left;
  mask.height = bottom - mask.top;
  if (mask.width <= 0 || mask.height <= 0) return {};
  mask.coverage.resize(static_cast<std::size_t>(mask.width) *
                       static_cast<std::size_t>(mask.height));
  stbtt_MakeGlyphBitmapSubpixel(&font(), mask.coverage.data(), mask.width, mask.height, mask.width,
                                scale, scale, sx, sy, glyph);
  return mask;
}

}  // namespace

double text_width(std::string_view text, double size) {
  return layout(text, size, [](int, double) {});
}

void draw_text(Canvas& canvas, Point origin, std::string_view text, double size, Colour colour,
               bool upwards) {
  // In the text's own frame x runs along the line; turned upwards, it is the canvas' -y.
  const double along = upwards ? -origin.y : origin.x;
  const double across = std::round(upwards ? origin.x : origin.y);  // whole pixels: crisp stems
  layout(text, size, [&](int glyph, double pen) {
    const double start = std::floor(along + pen);
    const GlyphMask mask = rasterise(glyph, size, along + pen - start, 0);
    for (int row = 0; row < mask.height; ++row) {
      for (int col = 0; col < mask.width; ++col) {
        const double covered = mask.coverage[static_cast<std::size_t>(row * mask.width + col)];
        const auto u = static_cast<std::int64_t>(start) + mask.left + col;
        const auto v = static_cast<std::int64_t>(across) + mask.top + row;
        canvas.blend(upwards ? v : u, upwards ? -1 - u : v, colour, covered / 255);
      }
    }
  });
}

}  // namespace fovea::visualise
