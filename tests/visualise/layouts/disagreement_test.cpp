// Boxes where segmentations differ.
#include "visualise/layouts/disagreement.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

using Classes = std::vector<std::int64_t>;

// 4 rows of 6 pixels.
Classes with(const std::vector<std::pair<int, int>>& pixels, std::int64_t value) {
  Classes all(24, 0);
  for (const auto& [row, column] : pixels) all[static_cast<std::size_t>(6 * row + column)] = value;
  return all;
}

}  // namespace

TEST_CASE("disagreement: boxes are around the largest regions that differ", "[visualise]") {
  const Classes truth = with({{0, 0}, {1, 1}, {2, 2}}, 1);  // one region: pixels touch at corners
  const Classes other = with({{0, 5}, {1, 5}}, 2);
  CHECK(disagreement_boxes({truth, truth}, 4, 6, 3).empty());
  CHECK(disagreement_boxes({truth, truth, with({}, 0)}, 4, 6, 1) ==
        std::vector<PixelBox>{{0, 0, 3, 3}});
  CHECK(disagreement_boxes({truth, other}, 4, 6, 5) ==
        std::vector<PixelBox>{{0, 0, 3, 3}, {0, 5, 2, 1}});
  CHECK(disagreement_boxes({truth, other}, 4, 6, 0).empty());
}

TEST_CASE("disagreement: a pixel without a class is in no box", "[visualise]") {
  Classes truth = with({{3, 4}}, 1);
  truth[0] = -100;
  const Classes found = with({{0, 0}, {0, 1}}, 1);
  CHECK(disagreement_boxes({truth, found}, 4, 6, 9) ==
        std::vector<PixelBox>{{0, 1, 1, 1}, {3, 4, 1, 1}});
  CHECK_THROWS_AS(disagreement_boxes({truth, Classes(23, 0)}, 4, 6, 1), ShapeError);
}

TEST_CASE("disagreement: a box is framed outside of it", "[visualise]") {
  Canvas canvas(40, 30, kWhite);
  draw_box(canvas, {10, 12, 3, 4});
  CHECK(canvas.at(8, 6) == kDifference);    // left, top
  CHECK(canvas.at(19, 16) == kDifference);  // right, bottom
  CHECK(canvas.at(12, 10) == kWhite);
  CHECK(canvas.at(7, 6) == kWhite);
  Canvas small(6, 4, kWhite);
  draw_box(small, {0, 5, 2, 1}, 16);  // cut off at the edge
  CHECK(small.at(4, 0) == kDifference);
  CHECK(small.at(5, 2) == kDifference);
  CHECK(small.at(3, 0) == kWhite);
}
