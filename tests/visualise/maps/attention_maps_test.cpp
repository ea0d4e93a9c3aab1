#include "visualise/maps/attention_maps.h"

#include <catch2/catch.hpp>

using namespace fovea;
using namespace fovea::visualise;

TEST_CASE("attention maps: the row that stands for an image", "[visualise]") {
  Observation seen;
  seen.layers = {
      {1, 4, {0.4, 0.3, 0.2, 0.1, 0.1, 0.2, 0.3, 0.4, 0.4, 0.1, 0.3, 0.2, 0.1, 0.1, 0.1, 0.7}}};
  const RolloutOptions options = default_rollout(false);
  const Matrix rollout = attention_rollout(seen.layers, options);
  const auto at = [&](std::size_t row, std::size_t column) {
    return rollout.values[4 * row + column];
  };
  SECTION("is the class token's, without those of registers") {
    seen.prefix_tokens = 2;
    CHECK(token_weights(seen, options) == std::vector<double>{at(0, 2), at(0, 3)});
  }
  SECTION("without a class token is the mean over patches, registers left out") {
    seen.prefix_tokens = 2;
    seen.class_token = false;
    const std::vector<double> weights = token_weights(seen, options);
    REQUIRE(weights.size() == 2);
    CHECK(weights[0] == Approx((at(2, 2) + at(3, 2)) / 2).epsilon(1e-14));
    CHECK(weights[1] == Approx((at(2, 3) + at(3, 3)) / 2).epsilon(1e-14));
  }
  SECTION("without either is the mean over all tokens") {
    CHECK(token_weights(seen, options) == mean_row(rollout));
  }
}
