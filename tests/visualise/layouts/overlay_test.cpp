#include "visualise/layouts/overlay.h"

#include <catch2/catch.hpp>

#include <string>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

std::string drawn(const std::vector<std::uint8_t>& line, std::int64_t width) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    text += line[i] != 0 ? '#' : '.';
    if (static_cast<std::int64_t>(i + 1) % width == 0) text += ' ';
  }
  return text;
}

// A 5 x 4 rectangle in the lower right corner of 6 x 6 pixels; soft values are cut at 0.5.
std::vector<float> rectangle() {
  std::vector<float> mask(36, 0.4f);
  for (std::size_t y = 1; y < 6; ++y) {
    for (std::size_t x = 2; x < 6; ++x) mask[y * 6 + x] = 0.5f;
  }
  return mask;
}

}  // namespace

TEST_CASE("contour: the foreground's edge pixels; the image's edge is outside", "[visualise]") {
  CHECK(drawn(contour_of(rectangle(), 6, 6, 1), 6) == "...... ..#### ..#..# ..#..# ..#..# ..#### ");
  // Thickness 2: all pixels next to these, cut at the image.
  CHECK(drawn(contour_of(rectangle(), 6, 6, 2), 6) == ".##### .##### .##### .##### .##### .##### ");
  CHECK(drawn(contour_of(std::vector<float>(4, 0.0f), 2, 2, 3), 2) == ".. .. ");
  CHECK_THROWS_AS(contour_of(rectangle(), 6, 5, 1), ShapeError);
  CHECK_THROWS_AS(contour_of(rectangle(), 6, 6, 0), ConfigError);
}

TEST_CASE("contour: drawn on an enlarged picture it is as thin as asked for", "[visualise]") {
  Canvas canvas(24, 24, Colour{0, 0, 0});
  draw_contour(canvas, rectangle(), 6, 6, 4, kTruth, 1);
  CHECK(canvas.at(8, 10) == kTruth);
  CHECK(canvas.at(9, 10) == Colour{0, 0, 0});
  CHECK(canvas.at(7, 10) == Colour{0, 0, 0});
  CHECK(canvas.at(23, 10) == kTruth);
  CHECK(canvas.at(12, 4) == kTruth);
  CHECK_THROWS_AS(draw_contour(canvas, rectangle(), 6, 6, 3, kTruth, 1), ShapeError);
}

TEST_CASE("overlay grid: three pictures for each sample", "[visualise]") {
  Segmented s{"a",
              std::vector<float>(3 * 6 * 5, 0.5f),
              std::vector<float>(30, 0.0f),
              std::vector<float>(30, 0.7f),
              3,
              6,
              5};
  const Canvas one = overlay_grid("title", {s}, 16);
  const Canvas two = overlay_grid("title", {s, s}, 16);
  CHECK(one.width >= 3 * 5 * 16);
  CHECK(two.height >= one.height + 6 * 16);
  CHECK_THROWS_AS(overlay_grid("title", {}), ShapeError);
  s.prob.pop_back();
  CHECK_THROWS_AS(overlay_grid("title", {s}), ShapeError);
}
