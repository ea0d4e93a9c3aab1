#include "models/detectors/anchor_grid.h"

#include "base/error.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using models::AnchorGrid;
using models::DetectionTruth;

namespace {

const ops::AnchorOptions kAnchors{.scales = {2, 4}, .ratios = {1}};

// Maps of k numbers of an anchor, in float64: level 0 of 4 x 6 cells, stride 16; level 1 of 2 x 3.
std::vector<Tensor> anchor_maps(std::int64_t k) {
  return {random_tensor({2, 2 * k, 4, 6}, 1), random_tensor({2, 2 * k, 2, 3}, 2)};
}

DetectionTruth one_object(const std::vector<float>& box) {
  const Device host = make_cpu(1);
  return {Tensor::from(box, {std::ssize(box) / 4, 4}, host),
          Tensor::from(std::vector<std::int64_t>(box.size() / 4, 0), {std::ssize(box) / 4}, host),
          {},
          {}};
}

}  // namespace

TEST_CASE("anchor grid: anchors of all levels, by row, column and anchor", "[models]") {
  const AnchorGrid grid(anchor_maps(1), {16, 32}, kAnchors);
  CHECK(grid.size() == 2 * (24 + 6));
  CHECK(grid.levels() == 2);
  CHECK(grid.first(1) == 48);
  CHECK(grid.count(1) == 12);
  const auto boxes = grid.boxes().host_values<float>();
  const auto box = [&](std::int64_t anchor) {
    const float* at = boxes.data() + 4 * anchor;
    return std::vector<float>(at, at + 4);
  };
  // Row 1, column 2, the second anchor: 64 pixels wide.
  CHECK(box((6 + 2) * 2 + 1) == std::vector<float>{0, -16, 64, 48});
  // Of level 1 column 1, the first: 64 pixels.
  CHECK(box(48 + 2) == std::vector<float>{0, -32, 64, 32});
  CHECK_THROWS_AS(AnchorGrid(anchor_maps(1), {16}, kAnchors), ShapeError);
}

TEST_CASE("anchor grid: numbers of single anchors and of all of a level", "[models]") {
  const std::vector<Tensor> maps = anchor_maps(3);
  const AnchorGrid grid(maps, {16, 32}, kAnchors);
  const std::vector<AnchorGrid::Place> places = {{1, 17}, {0, 48 + 5}, {1, 0}};
  const std::vector<double> found = to_doubles(grid.at(maps, places, 3));
  // Anchor 17: cell 8, the second one. Anchor 5 of level 1: cell 2, the second.
  const std::vector<double> first = to_doubles(maps[0]);
  const std::vector<double> second = to_doubles(maps[1]);
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(found[c] == first[144 + (3 + c) * 24 + 8]);
    CHECK(found[3 + c] == second[(3 + c) * 6 + 2]);
    CHECK(found[6 + c] == first[144 + c * 24]);
  }
  const Tensor rows = grid.rows_of(maps[0], 3);
  CHECK(rows.shape() == Shape{2 * 48, 3});
  const std::vector<double> of_rows = to_doubles(rows);
  for (std::size_t c = 0; c < 3; ++c) CHECK(of_rows[(48 + 17) * 3 + c] == found[c]);

  check_gradients([&](const auto& t) { return grid.at(t, places, 3); }, anchor_maps(3));
  check_gradients([&](const auto& t) { return grid.rows_of(t[0], 3); }, {maps[0]});
  CHECK(grid.at(maps, {}, 3).shape() == Shape{0, 3});
}

TEST_CASE("anchor grid: anchors beyond the padding of an image do not count", "[models]") {
  const AnchorGrid grid(anchor_maps(1), {16, 32}, kAnchors);
  const ops::AssignOptions options{.positive = 0.5, .negative = 0.4};
  const auto counted = [&](const models::ImageSize& size, bool inside_only) {
    std::vector<std::int64_t> numbers;
    const auto assigned = grid.assign(one_object({}), size, options, inside_only);
    REQUIRE(std::ssize(assigned) == grid.size());
    for (std::size_t i = 0; i < assigned.size(); ++i) {
      CHECK((assigned[i] == 0 || assigned[i] == -1));
      if (assigned[i] == 0) numbers.push_back(static_cast<std::int64_t>(i));
    }
    return numbers;
  };
  CHECK(std::ssize(counted({64, 96}, false)) == grid.size());
  // 20 x 33 is padded to 32 x 64: two rows of four cells, and one row of two.
  const std::vector<std::int64_t> some = counted({20, 33}, false);
  CHECK(some.size() == 2 * (8 + 2));
  CHECK(some[7] == 7);
  CHECK(some[8] == 12);
  CHECK(some[16] == 48);
  CHECK(some.back() == 48 + 3);
  // Squares of 32 pixels inside 64 x 96, whose centres are 16 to 32 below and 16 to 64 across (the
  // border itself is outside), and none of 64 or more.
  CHECK(counted({64, 96}, true).size() == 2 * 4);
  CHECK(counted({10, 10}, true).empty());
}

TEST_CASE("anchor grid: assigned objects keep their places among all anchors", "[models]") {
  const AnchorGrid grid(anchor_maps(1), {16, 32}, kAnchors);
  const ops::AssignOptions options{.positive = 0.9, .negative = 0.4};
  // The first anchor of row 1, column 2, exactly.
  const auto truth = one_object({16, 0, 48, 32});
  for (const bool inside_only : {false, true}) {
    const auto assigned = grid.assign(truth, {64, 96}, options, inside_only);
    CHECK(assigned[(6 + 2) * 2] == 1);
    CHECK(std::count(assigned.begin(), assigned.end(), 1) == 1);
  }
}
