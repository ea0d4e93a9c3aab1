#include "visualise/maps/rollouts/own_weight.h"

#include <catch2/catch.hpp>

using namespace fovea::visualise;

TEST_CASE("own weight: drawn no larger than the largest beside it, and no smaller than it is",
          "[visualise]") {
  using Weights = std::vector<double>;
  CHECK(without_own_peak({0.1, 0.7, 0.2}, 1) == Weights{0.1, 0.2, 0.2});
  CHECK(without_own_peak({0.5, 0.1, 0.4}, 1) == Weights{0.5, 0.1, 0.4});
  CHECK(without_own_peak({-0.5, 0.9}, 1) == Weights{-0.5, -0.5});
  CHECK(without_own_peak({1}, 0) == Weights{1});
}
