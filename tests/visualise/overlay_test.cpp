#include "visualise/overlay.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

TEST_CASE("outline: runs along the edges of the foreground only", "[visualise]") {
  Canvas canvas(16, 16, Colour{0, 0, 0});
  const std::vector<float> mask = {0, 0, 0, 0, 0, 1, 0.5f, 0, 0, 1, 0.4f, 0, 0, 0, 0, 0};
  draw_outline(canvas, mask, 4, 4, 4, kTruth, 2);
  // Left of pixel (1, 1), between it and (1, 2), above (1, 2), right of (2, 1).
  CHECK(canvas.at(4, 6) == kTruth);
  CHECK(canvas.at(8, 6) == Colour{0, 0, 0});
  CHECK(canvas.at(10, 4) == kTruth);
  CHECK(canvas.at(8, 10) == kTruth);
  CHECK(canvas.at(6, 6) == Colour{0, 0, 0});
  CHECK(canvas.at(14, 14) == Colour{0, 0, 0});
  CHECK_THROWS_AS(draw_outline(canvas, mask, 4, 3, 4, kTruth, 2), ShapeError);
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
