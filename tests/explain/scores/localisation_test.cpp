#include "explain/scores/localisation.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "explain/scores/segmentation_test.h"

using namespace fovea;
using explain::MaskedMap;
using Mask = std::vector<std::uint8_t>;
using Map = std::vector<double>;

TEST_CASE("localisation: a map equal to the mask is perfect", "[explain]") {
  const Map map = {0, 0, 1, 0, 1, 1};
  const Mask mask = {0, 0, 1, 0, 1, 1};
  const MaskedMap m{map, mask, 2, 3};
  CHECK(explain::pointing_game(m, 0) == 1);
  CHECK(explain::energy_inside(m) == 1);
  CHECK(explain::mass_inside(m) == 1);
  CHECK(explain::rank_accuracy(m) == 1);
  CHECK(explain::roc_of_mask(m) == 1);
}

TEST_CASE("localisation: numbers by hand", "[explain]") {
  const Map map = {4, -1, 3, 1, 0, 1};
  const Mask mask = {0, 1, 1, 1, 0, 0};
  const MaskedMap m{map, mask, 2, 3};
  CHECK(explain::pointing_game(m, 0) == 0);
  CHECK(explain::pointing_game(m, 1) == 1);  // pixels beside it lie in the mask
  CHECK(explain::energy_inside(m) == Approx(4.0 / 9));
  CHECK(explain::mass_inside(m) == Approx(3.0 / 8));
  CHECK(explain::rank_accuracy(m) == Approx(2.0 / 3));  // 4, 3 and the first 1
  // Pairs of (-1, 3, 1) and (4, 0, 1): 3 > 0, 3 > 1, 1 > 0 and 1 = 1.
  CHECK(explain::roc_of_mask(m) == Approx(3.5 / 9));
}

TEST_CASE("localisation: tolerance is a disc", "[explain]") {
  Map map(25, 0.0);
  map[0] = 1;
  Mask mask(25, 0);
  mask[12] = 1;  // two rows down, two columns right: 2.83 pixels away
  const MaskedMap m{map, mask, 5, 5};
  CHECK(explain::pointing_game(m, 2.8) == 0);
  CHECK(explain::pointing_game(m, 2.9) == 1);
  map[12] = 1;  // any place of the largest value counts
  CHECK(explain::pointing_game({map, mask, 5, 5}, 0) == 1);
}

TEST_CASE("localisation: undefined without a mask or positive relevance", "[explain]") {
  const Map map = {-1, -2, 0};
  const Mask empty(3, 0), all(3, 1), some = {0, 1, 0};
  for (const auto score :
       {explain::energy_inside, explain::mass_inside, explain::rank_accuracy, explain::roc_of_mask})
    CHECK(std::isnan(score({map, empty, 1, 3})));
  CHECK(std::isnan(explain::pointing_game({map, empty, 1, 3}, 5)));
  CHECK(std::isnan(explain::energy_inside({map, some, 1, 3})));
  CHECK(std::isnan(explain::roc_of_mask({map, all, 1, 3})));
  CHECK_THROWS_AS(explain::energy_inside({map, some, 2, 3}), ShapeError);
}

TEST_CASE("segmentation test: the mask itself is perfect", "[explain]") {
  explain::SegmentationTest test;
  const auto one = test.add(Map{0, 0, 1, 1, 0, 0}, std::vector<std::int64_t>{0, 0, 1, 1, 0, 0});
  CHECK(one.foreground == Mask{0, 0, 1, 1, 0, 0});
  CHECK(one.ap == 1);
  CHECK(test.mean_iou() == 1);
  CHECK(test.pixel_accuracy() == 1);
}

TEST_CASE("segmentation test: sums over images, ignored pixels left out", "[explain]") {
  explain::SegmentationTest test;
  // Scaled 0, 1/4, 1, 1/2, mean 0.4375: foreground 0 0 1 1.
  test.add(Map{0, 1, 4, 2}, std::vector<std::int64_t>{0, 1, 1, 255});
  // A constant map has no foreground.
  const auto flat = test.add(Map{5, 5, 5, 5}, std::vector<std::int64_t>{0, 0, 1, -1});
  CHECK(flat.foreground == Mask{0, 0, 0, 0});
  // Of 6 pixels: background 3, all found; object 3, one found; two called background.
  CHECK(test.pixel_accuracy() == Approx(4.0 / 6));
  CHECK(test.iou(0) == Approx(3.0 / 5));
  CHECK(test.iou(1) == Approx(1.0 / 3));
  CHECK(test.mean_iou() == Approx((3.0 / 5 + 1.0 / 3) / 2));
  // Of the flat map: scores 1 for background (right: 1 1 0), 0 for the object (right: 0 0 1).
  CHECK(flat.ap == Approx(2.0 / 3 * 2 / 3 + 1.0 / 3 * 3 / 6));
  CHECK_THROWS_AS(test.add(Map{0, 1}, std::vector<std::int64_t>{0, 7}), ConfigError);
}

TEST_CASE("segmentation test: mean IoU of one image as a score", "[explain]") {
  explain::Explained e{.relevance = {0, 1, 4, 2}, .units = explain::Units(2, 2, 2, 2)};
  e.mask = {0, 1, 1, 0};
  // Above their mean are the last two: background and object have 1 of 3 pixels right each.
  const explain::ScoreEntry& miou = explain::scores().find("segmentation_miou");
  CHECK(miou.score(e, {miou.name, {}}).value == Approx(1.0 / 3));
  e.mask = {0, 0, 1, 1};
  CHECK(miou.score(e, {miou.name, {}}).value == 1);
}

TEST_CASE("localisation: flat relevance has no score", "[explain]") {
  explain::Explained e{.relevance = {2, 2, 2, 2}, .units = explain::Units(2, 2, 2, 2)};
  e.mask = {0, 0, 1, 1};
  for (const char* name : {"pointing", "energy", "mass_signed", "rank_accuracy", "roc_auc",
                           "segmentation_ap", "segmentation_miou"}) {
    INFO(name);
    const explain::ScoreEntry& score = explain::scores().find(name);
    e.relevance = {2, 2, 2, 2};
    CHECK(std::isnan(score.score(e, {name, {}}).value));
    e.relevance = {2, 2, 2, 3};
    CHECK(std::isfinite(score.score(e, {name, {}}).value));
  }
}
