#include "metrics/verdict.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "metrics/power.h"

using namespace fovea::metrics;

TEST_CASE("verdict: Holm's p decides, and the direction of the metric", "[metrics]") {
  CHECK(verdict_of(0.05, 1.5, true) == Verdict::kBetter);
  CHECK(verdict_of(0.05, 1.5, false) == Verdict::kWorse);
  CHECK(verdict_of(0.01, -1.5, false) == Verdict::kBetter);
  CHECK(verdict_of(0.0501, 1.5, true) == Verdict::kNotDistinguishable);
  CHECK(verdict_of(std::nan(""), 1.5, true) == Verdict::kNone);
}

// All rows share the first one, so the tests of a table are not independent.
TEST_CASE("verdict: equivalence needs both bounds", "[metrics]") {
  const std::vector<double> close = {0.1, -0.2, 0.05, 0.15, -0.1};
  CHECK(equivalence_p(close, 0.5) == 1.0 / 32);  // all of 5 lie on the right side of both bounds
  CHECK(equivalence_p(close, 0.005) > 0.4);      // their mean of 0 lies inside, no more
  CHECK(equivalence_p(std::vector<double>{1.1, 1.2, 1.3, 1.0, 1.4}, 0.5) == 1.0);
  CHECK(std::isnan(equivalence_p({}, 0.5)));
}

TEST_CASE("verdict: noise floor and smallest difference", "[metrics]") {
  CHECK(noise_floor(5, 0.44) == Approx(2.776445 * std::sqrt(2) * 0.44).epsilon(1e-6));
  CHECK(std::isnan(noise_floor(1, 0.0)));
  CHECK_FALSE(detectable_difference(5, 1.0, 1));
  CHECK_FALSE(detectable_difference(8, 0.0, 1));
  CHECK(*detectable_difference(9, 2.0, 3) == Approx(2 * *detectable_effect(9, kAlpha / 3)));
}
