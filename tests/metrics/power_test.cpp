#include "metrics/power.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace fovea::metrics;

TEST_CASE("power: six pairs show an effect when all have one sign", "[metrics]") {
  // Phi(effect)^6 + Phi(-effect)^6
  CHECK(sign_flip_power(6, 0.05, 0.5) == Approx(0.1101606).margin(0.007));
  CHECK(sign_flip_power(6, 0.05, 1.0) == Approx(0.3547018).margin(0.012));
  CHECK(sign_flip_power(6, 0.05, 2.0) == Approx(0.8710312).margin(0.009));
  CHECK(sign_flip_power(5, 0.05, 9.0) == 0);  // p of 5 pairs is at least 0.0625
}

TEST_CASE("power: that of whole experiments, enumerated in NumPy", "[metrics]") {
  CHECK(sign_flip_power(8, 0.05, 1.0) == Approx(0.657175).margin(0.012));
  CHECK(sign_flip_power(10, 0.05 / 3, 1.2) == Approx(0.7576).margin(0.012));
  CHECK(sign_flip_power(13, 0.05, 0.8) == Approx(0.7555).margin(0.015));
  CHECK(sign_flip_power(14, 0.01, 1.0) == Approx(0.74625).margin(0.015));
}

TEST_CASE("power: of many pairs that of Student's noncentral t in SciPy", "[metrics]") {
  CHECK(sign_flip_power(13, 0.05, 0.8) == Approx(0.7543361786524393).epsilon(1e-7));
  CHECK(sign_flip_power(20, 0.01, 1.0) == Approx(0.9324953716898586).epsilon(1e-7));
  CHECK(sign_flip_power(40, 0.05 / 3, 0.6) == Approx(0.8960901189650896).epsilon(1e-7));
}

TEST_CASE("power: without an effect it is at most alpha", "[metrics]") {
  for (const std::int64_t n : {6, 8, 12, 30}) {
    INFO(n);
    CHECK(sign_flip_power(n, 0.05, 0) < 0.055);
  }
}

TEST_CASE("power: the effect that so many pairs show, and the pairs that it needs", "[metrics]") {
  CHECK_FALSE(detectable_effect(5, 0.05));
  CHECK_FALSE(detectable_effect(7, 0.05 / 4));
  for (const std::int64_t n : {6, 9, 20}) {
    INFO(n);
    const std::optional<double> effect = detectable_effect(n, 0.05);
    REQUIRE(effect);
    CHECK(sign_flip_power(n, 0.05, *effect) == Approx(kPower).margin(0.002));
    const std::optional<PairsNeeded> needed = pairs_for(*effect * 1.01, 0.05);
    REQUIRE(needed);
    CHECK(needed->pairs == n);
    CHECK(needed->power >= kPower);
  }
  CHECK_FALSE(pairs_for(1e-4, 0.05));
}
