#include "visualise/layouts/overlay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "visualise/drawing/colour_map.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/montage.h"
#include "visualise/maps/attention_maps.h"

namespace fovea::visualise {
namespace {

Canvas probability_picture(const Segmented& s) {
  Canvas canvas(s.width, s.height);
  for (std::int64_t y = 0; y < s.height; ++y) {
    for (std::int64_t x = 0; x < s.width; ++x) {
      const double p = double{s.prob[static_cast<std::size_t>(y * s.width + x)]};
      canvas.set(x, y, colour_of(ColourMap::kViridis, p));
    }
  }
  return canvas;
}

}  // namespace

std::vector<std::uint8_t> contour_of(std::span<const float> mask, std::int64_t height,
                                     std::int64_t width, std::int64_t thickness, float threshold) {
  FOVEA_CHECK(std::ssize(mask) == height * width, ShapeError,
              fmt::format("contour: a mask of {} pixels for {} x {}", mask.size(), height, width));
  FOVEA_CHECK(thickness >= 1, ConfigError,
              fmt::format("contour: thickness {}; expected at least 1", thickness));
  const auto inside = [&](std::int64_t y, std::int64_t x) {
    return y >= 0 && x >= 0 && y < height && x < width &&
           mask[static_cast<std::size_t>(y * width + x)] >= threshold;
  };
  std::vector<std::uint8_t> line(mask.size(), 0);
  const std::int64_t reach = thickness - 1;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const bool edge = inside(y, x) && !(inside(y - 1, x) && inside(y + 1, x) &&
                                          inside(y, x - 1) && inside(y, x + 1));
      if (!edge) continue;
      for (std::int64_t v = std::max<std::int64_t>(0, y - reach);
           v <= std::min(height - 1, y + reach); ++v) {
        for (std::int64_t u = std::max<std::int64_t>(0, x - reach);
             u <= std::min(width - 1, x + reach); ++u)
          line[static_cast<std::size_t>(v * width + u)] = 1;
      }
    }
  }
  return line;
}

void draw_contour(Canvas& canvas, std::span<const float> mask, std::int64_t height,
                  std::int64_t width, std::int64_t factor, Colour colour, std::int64_t thickness) {
  FOVEA_CHECK(std::ssize(mask) == height * width && canvas.width == width * factor &&
                  canvas.height == height * factor,
              ShapeError,
              fmt::format("contour: a mask of {} pixels for {} x {}, on a picture of {} x {}",
                          mask.size(), height, width, canvas.height, canvas.width));
  std::vector<float> large;
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x)
      large.push_back(mask[static_cast<std::size_t>(y / factor * width + x / factor)]);
  }
  const auto line = contour_of(large, canvas.height, canvas.width, thickness);
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x) {
      if (line[static_cast<std::size_t>(y * canvas.width + x)] != 0) canvas.set(x, y, colour);
    }
  }
}

Canvas overlay_grid(const std::string& title, const std::vector<Segmented>& samples,
                    std::int64_t factor) {
  FOVEA_CHECK(!samples.empty(), ShapeError, "overlay: no samples");
  const std::int64_t largest = std::max(samples.front().height, samples.front().width);
  if (factor == 0) factor = std::max<std::int64_t>(1, (256 + largest / 2) / largest);
  Montage montage;
  montage.title = title;
  montage.factor = 1;  // outlines are drawn on the enlarged picture
  montage.column_labels = {"image", "truth (green), prediction (blue)", "probability"};
  for (const Segmented& s : samples) {
    const auto pixels = static_cast<std::size_t>(s.height * s.width);
    FOVEA_CHECK(s.truth.size() == pixels && s.prob.size() == pixels, ShapeError,
                fmt::format("overlay: {}: {} and {} values for an image of {} x {}", s.label,
                            s.truth.size(), s.prob.size(), s.height, s.width));
    const Canvas image = enlarge(picture_of(s.image, s.channels, s.height, s.width), factor);
    // The wider line below, so that both show where they coincide.
    Canvas outlined = image;
    draw_contour(outlined, s.truth, s.height, s.width, factor, kTruth, 3);
    draw_contour(outlined, s.prob, s.height, s.width, factor, kPrediction, 2);
    montage.rows.push_back({image, outlined, enlarge(probability_picture(s), factor)});
    montage.row_labels.push_back(s.label);
  }
  MontageBar bar;
  bar.bar = {ColourMap::kViridis, 0.0, 1.0, "foreground probability"};
  montage.bars.push_back(bar);
  return render(montage);
}

}  // namespace fovea::visualise
