#include "visualise/maps/layer_statistics.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <numeric>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

TEST_CASE("key cosines: parallel, opposite and perpendicular keys", "[visualise]") {
  const std::vector<double> keys = {1, 0, -2, 0, 0, 3};  // one set of three layers, two channels
  CHECK(key_cosines(keys, 3, 2, KeyPairs::kAdjacent) == std::vector<double>{-1, 0});
  CHECK(key_cosines(keys, 3, 2, KeyPairs::kArbitrary) == std::vector<double>{-1, 0, 0});
  CHECK(key_cosines(std::vector<double>{0, 0, 1, 0}, 2, 2, KeyPairs::kAdjacent)[0] == 0);
  CHECK_THROWS_AS(key_cosines(keys, 4, 2, KeyPairs::kAdjacent), ShapeError);
}

TEST_CASE("histogram: both ends are inside, others only count in the total", "[visualise]") {
  const std::vector<double> values = {-1, 1, 0.99, 3};
  CHECK(histogram(values, 2, -1, 1) == std::vector<double>{0.25, 0.5});
  CHECK(histogram(std::vector<double>{}, 2, -1, 1) == std::vector<double>{0, 0});
  CHECK_THROWS_AS(histogram(values, 0, -1, 1), ConfigError);
}

TEST_CASE("beta decay: products from the last layer back", "[visualise]") {
  // Three layers, one channel: beta is 1, lambda_3, lambda_3 lambda_2.
  CHECK(beta_decay(std::vector<double>{7, 0.5, -2}, 3, 1) == std::vector<double>{1, -2, -1});
  CHECK(beta_decay(std::vector<double>{7, 3}, 1, 2) == std::vector<double>{1, 1});
  // Two layers, two channels.
  CHECK(beta_decay(std::vector<double>{7, 8, 3, 4}, 2, 2) == std::vector<double>{1, 1, 3, 4});
  const Spread spread = spread_of(std::vector<double>{-1, 1}, false);
  CHECK(spread.mean == 0);
  CHECK(spread.std == 1);
  CHECK(spread_of(std::vector<double>{-1, 1}, true).std == 0);
  CHECK(spread_of({}, true).std == 0);
}

TEST_CASE("layer scores: rows sum to one, later layers weigh nothing, large norms are finite",
          "[visualise]") {
  const auto map = layer_scores(std::vector<double>{1000, 1, 1001}, 0.7);
  for (std::size_t t = 0; t < 3; ++t) {
    CHECK(std::accumulate(map.begin() + static_cast<std::ptrdiff_t>(3 * t),
                          map.begin() + static_cast<std::ptrdiff_t>(3 * t + 3),
                          0.0) == Approx(1.0));
  }
  CHECK(map[1] == 0);
  CHECK(map[2] == 0);
  CHECK(map[6] == Approx(1 / (1 + std::exp(1 / 0.7))));
}
