// Zooming and turning as scipy and numpy do; golden values are in the cases of gdla (verify).
#include "data/augment/zoom.h"

#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

#include "base/error.h"

using namespace fovea;
using namespace fovea::data;

namespace {

std::vector<float> counting(std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

}  // namespace

TEST_CASE("zoom: a cubic spline passes through its samples and along a line", "[data]") {
  std::vector<float> x = {3, 1, 4, 1, 5, 9};
  std::vector<float> same(6), fine(11);
  zoom_spline({1, 1, 6, x.data()}, {1, 1, 6, same.data()});
  zoom_spline({1, 1, 6, x.data()}, {1, 1, 11, fine.data()});
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(same[i] == Approx(x[i]).margin(1e-6));
    CHECK(fine[2 * i] == Approx(x[i]).margin(1e-6));
  }
  CHECK_THROWS_AS(zoom_spline({1, 2, 3, x.data()}, {2, 1, 3, same.data()}), ShapeError);
}

TEST_CASE("zoom: one row or column, and one output, are taken as they are", "[data]") {
  std::vector<float> x = counting(4);
  std::vector<float> y(9, -1.0f);
  zoom_spline({1, 1, 4, x.data()}, {1, 1, 1, y.data()});
  CHECK(y[0] == Approx(1));
  zoom_spline({1, 1, 1, x.data()}, {1, 3, 3, y.data()});
  CHECK(y == std::vector<float>(9, 1.0f));
  zoom_nearest({1, 1, 4, x.data()}, {1, 1, 7, y.data()});
  CHECK(std::vector<float>(y.begin(), y.begin() + 7) == std::vector<float>{1, 2, 2, 3, 3, 4, 4});
}

TEST_CASE("rot90: counter-clockwise, four of them are none", "[data]") {
  std::vector<float> x = counting(6);
  Planes planes{1, 2, 3, x.data()};
  planes = rot90(planes, 1);
  CHECK(planes.height == 3);
  CHECK(planes.width == 2);
  CHECK(x == std::vector<float>{3, 6, 2, 5, 1, 4});
  planes = rot90(planes, 2);
  planes = rot90(planes, -3);
  CHECK(planes.height == 2);
  CHECK(x == counting(6));
}

TEST_CASE("rotate_nearest: quarters of a square are rot90, and 0 comes in from outside", "[data]") {
  std::vector<float> x = counting(9), y = x;
  rotate_nearest({1, 3, 3, x.data()}, 90);
  rot90({1, 3, 3, y.data()}, 1);
  CHECK(x == y);
  rotate_nearest({1, 3, 3, x.data()}, 45);
  CHECK(x[0] == 0.0f);
  CHECK(x[4] == 5.0f);
}
