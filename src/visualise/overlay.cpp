#include "visualise/overlay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "visualise/attention_maps.h"
#include "visualise/colour_map.h"
#include "visualise/montage.h"

namespace fovea::visualise {
namespace {

Canvas enlarged(const Canvas& picture, std::int64_t factor) {
  Canvas large(picture.width * factor, picture.height * factor);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) {
      large.fill_rectangle(x * factor, y * factor, factor, factor, picture.at(x, y));
    }
  }
  return large;
}

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

void draw_outline(Canvas& canvas, std::span<const float> mask, std::int64_t height,
                  std::int64_t width, std::int64_t factor, Colour colour, std::int64_t thickness,
                  float threshold) {
  FOVEA_CHECK(static_cast<std::int64_t>(mask.size()) == height * width &&
                  canvas.width == width * factor && canvas.height == height * factor,
              ShapeError,
              fmt::format("outline: a mask of {} pixels for {} x {}, on a picture of {} x {}",
                          mask.size(), height, width, canvas.height, canvas.width));
  const auto inside = [&](std::int64_t y, std::int64_t x) {
    return y >= 0 && x >= 0 && y < height && x < width &&
           mask[static_cast<std::size_t>(y * width + x)] >= threshold;
  };
  const std::int64_t before = thickness / 2;
  const std::int64_t length = factor + thickness;  // reaches round corners
  for (std::int64_t y = 0; y <= height; ++y) {
    for (std::int64_t x = 0; x <= width; ++x) {
      const std::int64_t left = x * factor - before;
      const std::int64_t top = y * factor - before;
      const bool here = inside(y, x);
      if (here != inside(y - 1, x)) canvas.fill_rectangle(left, top, length, thickness, colour);
      if (here != inside(y, x - 1)) canvas.fill_rectangle(left, top, thickness, length, colour);
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
  montage.column_labels = {"image", "truth (yellow), prediction (blue)", "probability"};
  for (const Segmented& s : samples) {
    const auto pixels = static_cast<std::size_t>(s.height * s.width);
    FOVEA_CHECK(s.truth.size() == pixels && s.prob.size() == pixels, ShapeError,
                fmt::format("overlay: {}: {} and {} values for an image of {} x {}", s.label,
                            s.truth.size(), s.prob.size(), s.height, s.width));
    const Canvas image = enlarged(picture_of(s.image, s.channels, s.height, s.width), factor);
    // The wider line below, so that both show where they coincide.
    Canvas outlined = image;
    draw_outline(outlined, s.truth, s.height, s.width, factor, kTruth, 4);
    draw_outline(outlined, s.prob, s.height, s.width, factor, kPrediction, 2);
    montage.rows.push_back({image, outlined, enlarged(probability_picture(s), factor)});
    montage.row_labels.push_back(s.label);
  }
  MontageBar bar;
  bar.bar = {ColourMap::kViridis, 0.0, 1.0, "foreground probability"};
  montage.bars.push_back(bar);
  return render(montage);
}

}  // namespace fovea::visualise
