#include "visualise/layouts/detection.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/visualise/pixels.h"
#include "visualise/layouts/label_overlay.h"

using namespace fovea;
using namespace fovea::visualise;
using test::pixels_of;

namespace {

const std::vector<std::string> kClasses = {"cell", "platelet"};

// A mask over the columns x1..x2-1 of all rows of a 40 x 60 image.
std::vector<std::uint8_t> columns(std::int64_t x1, std::int64_t x2) {
  std::vector<std::uint8_t> mask;
  for (std::int64_t i = 0; i < 40 * 60; ++i) mask.push_back(i % 60 >= x1 && i % 60 < x2 ? 1 : 0);
  return mask;
}

}  // namespace

TEST_CASE("detection: a frame, a plate and a tint in the colour of the class", "[visualise]") {
  const Canvas image(60, 40);
  CHECK(draw_objects(image, {}, kClasses).rgb == image.rgb);
  const DrawnObject box{{10, 20, 30, 38}, 1, 0.75, {}};
  const Canvas drawn = draw_objects(image, std::vector{box}, kClasses);
  CHECK(drawn.at(10, 20) == object_colour(1));
  CHECK(drawn.at(29, 37) == object_colour(1));
  CHECK(drawn.at(20, 30) == kWhite);
  CHECK(drawn.at(12, 17) != kWhite);  // the plate lies above
  CHECK(pixels_of(drawn, object_colour(1)) >= 2 * (20 + 18) * 2 - 16);

  const Canvas tinted = draw_objects(
      image, std::vector{DrawnObject{{10, 20, 30, 38}, 0, {}, columns(40, 50)}}, kClasses);
  Canvas tint(1, 1);
  tint.blend(0, 0, object_colour(0), 0.45);
  CHECK(tinted.at(45, 30) == tint.at(0, 0));
  CHECK(tinted.at(51, 30) == kWhite);
}

TEST_CASE("detection: the first object lies on top", "[visualise]") {
  const DrawnObject first{{5, 18, 25, 35}, 0, 0.9, {}}, second{{5, 18, 25, 35}, 1, 0.3, {}};
  const Canvas drawn = draw_objects(Canvas(60, 40), std::vector{first, second}, kClasses);
  CHECK(drawn.at(5, 30) == object_colour(0));
  CHECK(pixels_of(drawn, object_colour(1)) == 0);
}

TEST_CASE("detection: boxes of no area, outside, and at the edges are drawn", "[visualise]") {
  const std::vector<DrawnObject> odd = {{{30, 30, 30, 30}, 0, {}, {}},
                                        {{-20, -10, 15, 12}, 1, 0.5, {}},
                                        {{100, 100, 120, 130}, 1, 0.5, {}},
                                        {{50, 0, 60, 5}, 0, 0.5, {}}};
  const Canvas drawn = draw_objects(Canvas(60, 40), odd, kClasses);
  CHECK(drawn.width == 60);
  CHECK(drawn.at(30, 30) == object_colour(0));
}

TEST_CASE("detection: a factor enlarges the image, not the letters", "[visualise]") {
  const DrawnObject box{{10, 20, 30, 38}, 1, {}, {}};
  const Canvas drawn = draw_objects(Canvas(60, 40), std::vector{box}, kClasses, 3);
  CHECK(drawn.width == 180);
  CHECK(drawn.at(30, 60) == object_colour(1));
  CHECK(drawn.at(89, 113) == object_colour(1));
  CHECK(drawn.at(60, 90) == kWhite);
}

TEST_CASE("detection: a grid has the truth beside the prediction", "[visualise]") {
  DetectedImage one{"a", std::vector<float>(3 * 40 * 60, 1.0f), 3, 40, 60, {}, {}};
  one.truth = {{{10, 20, 30, 38}, 0, {}, columns(10, 30)}};
  one.found = {{{12, 20, 32, 38}, 1, 0.5, {}}};
  const Canvas grid = detection_grid("title", kClasses, {one, one}, 2);
  CHECK(grid.width >= 2 * 120);
  CHECK(grid.height >= 2 * 80);
  CHECK(pixels_of(grid, object_colour(0)) > 0);
  CHECK(pixels_of(grid, object_colour(1)) > 0);
}

TEST_CASE("detection: the name of the only class is left out", "[visualise]") {
  const Canvas image(60, 40);
  const auto above = [&](const DrawnObject& object, const std::vector<std::string>& classes) {
    return draw_objects(image, std::vector{object}, classes).at(12, 17) != kWhite;
  };
  const DrawnObject truth{{10, 20, 30, 38}, 0, {}, {}}, found{{10, 20, 30, 38}, 0, 0.5, {}};
  CHECK(above(truth, kClasses));
  CHECK_FALSE(above(truth, {"cell"}));
  CHECK(above(found, {"cell"}));  // its score
}

TEST_CASE("detection: what does not fit is refused", "[visualise]") {
  const Canvas image(60, 40);
  CHECK_THROWS_AS(draw_objects(image, std::vector{DrawnObject{{0, 0, 1, 1}, 2, {}, {}}}, kClasses),
                  ShapeError);
  CHECK_THROWS_AS(draw_objects(image, std::vector{DrawnObject{{0, 0, 1, 1}, -1, {}, {}}}, kClasses),
                  ShapeError);
  CHECK_THROWS_WITH(
      draw_objects(image, std::vector{DrawnObject{{0, 0, 1, 1}, 0, {}, {1, 0}}}, kClasses),
      Catch::Contains("a mask of 2 pixels for an image of 40 x 60"));
  CHECK_THROWS_AS(detection_grid("", kClasses, {}), ShapeError);
}
