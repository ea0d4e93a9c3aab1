#include "explain/scores/impute_linear.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "base/error.h"
#include "tensor/random.h"

using namespace fovea;
using explain::Image;
using explain::impute_linear;

TEST_CASE("linear imputation: one pixel is the weighted mean of its neighbours", "[explain]") {
  Image inner{1, 3, 3, {1, 2, 3, 4, 100, 6, 7, 8, 90}};
  impute_linear(inner, std::vector<std::uint8_t>{0, 0, 0, 0, 1, 0, 0, 0, 0});
  CHECK(inner.values[4] == Approx((2 + 4 + 6 + 8) / 6.0 + (1 + 3 + 7 + 90) / 12.0));
  // In the corner three neighbours are left: (1/6, 1/6, 1/12) of 5/12.
  Image corner{1, 2, 2, {100, 2, 5, 8}};
  impute_linear(corner, std::vector<std::uint8_t>{1, 0, 0, 0});
  CHECK(corner.values[0] == Approx((2 * 2 + 2 * 5 + 8) / 5.0));
}

TEST_CASE("linear imputation: between two pixels values rise evenly", "[explain]") {
  Image line{2, 1, 5, {0, 9, 9, 9, 4, 10, 9, 9, 9, -10}};
  impute_linear(line, std::vector<std::uint8_t>{0, 1, 1, 1, 0});
  const double expected[] = {0, 1, 2, 3, 4, 10, 5, 0, -5, -10};
  for (std::size_t i = 0; i < 10; ++i) CHECK(line.values[i] == Approx(expected[i]).margin(1e-9));
}

TEST_CASE("linear imputation: a constant image comes back exactly", "[explain]") {
  Image image{1, 9, 7, std::vector<float>(63, 0.1f)};
  std::vector<std::uint8_t> removed(63, 1);
  removed[40] = 0;
  impute_linear(image, removed);
  CHECK(image.values == std::vector<float>(63, 0.1f));
}

TEST_CASE("linear imputation: values lie between the kept ones and the mean value holds",
          "[explain]") {
  const RandomStream random = RandomStream(11).fork("imputation");
  const std::int64_t h = 12, w = 17;
  Image image{1, h, w, {}};
  std::vector<std::uint8_t> removed;
  for (std::uint64_t p = 0; p < static_cast<std::uint64_t>(h * w); ++p) {
    image.values.push_back(static_cast<float>(random.normal(p)));
    removed.push_back(random.fork("mask").uniform(p) < 0.9f ? 1 : 0);
  }
  float low = 1e9f, high = -1e9f;
  for (std::size_t p = 0; p < removed.size(); ++p) {
    if (removed[p] != 0) continue;
    low = std::min(low, image.values[p]);
    high = std::max(high, image.values[p]);
  }
  impute_linear(image, removed);
  for (std::int64_t y = 0; y < h; ++y) {
    for (std::int64_t x = 0; x < w; ++x) {
      const auto p = static_cast<std::size_t>(y * w + x);
      CHECK((image.values[p] >= low && image.values[p] <= high));
      if (removed[p] == 0) continue;
      double sum = 0, weights = 0;
      for (std::int64_t v = std::max<std::int64_t>(y - 1, 0); v <= std::min(y + 1, h - 1); ++v) {
        for (std::int64_t u = std::max<std::int64_t>(x - 1, 0); u <= std::min(x + 1, w - 1); ++u) {
          if (v == y && u == x) continue;
          const double weight = v == y || u == x ? 2 : 1;
          sum += weight * image.values[static_cast<std::size_t>(v * w + u)];
          weights += weight;
        }
      }
      CHECK(image.values[p] == Approx(sum / weights).margin(1e-6));
    }
  }
}

TEST_CASE("linear imputation: without a kept pixel there is 0, and noise is added where removed",
          "[explain]") {
  Image image{1, 2, 2, {1, 2, 3, 4}};
  impute_linear(image, std::vector<std::uint8_t>(4, 1));
  CHECK(image.values == std::vector<float>{0, 0, 0, 0});
  explain::add_noise(image, std::vector<std::uint8_t>{0, 1, 1, 0}, std::vector<double>{1, 2, 3, 4},
                     0.5);
  CHECK(image.values == std::vector<float>{0, 1, 1.5f, 0});
  CHECK_THROWS_AS(impute_linear(image, std::vector<std::uint8_t>(3, 1)), ShapeError);
}
