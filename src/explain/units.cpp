#include "explain/units.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace fovea::explain {

Units::Units(std::int64_t r, std::int64_t c, std::int64_t h, std::int64_t w)
    : rows(r), cols(c), height(h), width(w) {
  FOVEA_CHECK(rows >= 1 && cols >= 1 && rows <= height && cols <= width, ConfigError,
              fmt::format("units: a grid of {} x {} over an image of {} x {} pixels; expected at "
                          "least one row and column and no more than pixels",
                          rows, cols, height, width));
}

std::vector<std::int64_t> Units::of_pixels() const {
  std::vector<std::int64_t> unit(static_cast<std::size_t>(height * width));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t y = i * height / rows; y < (i + 1) * height / rows; ++y) {
        for (std::int64_t x = j * width / cols; x < (j + 1) * width / cols; ++x)
          unit[static_cast<std::size_t>(y * width + x)] = i * cols + j;
      }
    }
  }
  return unit;
}

std::vector<double> Units::pooled(std::span<const double> pixels) const {
  FOVEA_CHECK(
      std::ssize(pixels) == height * width, ShapeError,
      fmt::format("units: {} values of pixels; expected {} x {}", pixels.size(), height, width));
  const std::vector<std::int64_t> unit = of_pixels();
  std::vector<double> sums(static_cast<std::size_t>(count()), 0.0);
  for (std::size_t p = 0; p < pixels.size(); ++p)
    sums[static_cast<std::size_t>(unit[p])] += pixels[p];
  return sums;
}

Units units_of(GridSize patches, GridSize image) {
  if (patches.count() > 0) return {patches.h, patches.w, image.h, image.w};
  return {std::min(kBlocks, image.h), std::min(kBlocks, image.w), image.h, image.w};
}

}  // namespace fovea::explain
