#include "explain/units.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using explain::Units;

TEST_CASE("units: blocks of unequal sizes cover the image", "[explain]") {
  // floor(i 7 / 3): rows begin at 0, 2, 4; floor(j 5 / 2): columns at 0, 2.
  const Units units(3, 2, 7, 5);
  CHECK(units.of_pixels() == std::vector<std::int64_t>{0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 2, 2,
                                                       3, 3, 3, 2, 2, 3, 3, 3, 4, 4, 5, 5,
                                                       5, 4, 4, 5, 5, 5, 4, 4, 5, 5, 5});
  CHECK(units.pooled(std::vector<double>(35, 1.0)) == std::vector<double>{4, 6, 4, 6, 6, 9});
}

TEST_CASE("units: a grid finer than the image is refused", "[explain]") {
  CHECK_THROWS_AS(Units(4, 1, 3, 3), ConfigError);
  CHECK_THROWS_AS(Units(1, 0, 3, 3), ConfigError);
  CHECK_THROWS_AS(Units(2, 2, 4, 4).pooled(std::vector<double>(15)), ShapeError);
}
