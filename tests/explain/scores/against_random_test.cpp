#include "explain/scores/against_random.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "tensor/random.h"

using namespace fovea;
using explain::against_random;
using explain::Better;
using metrics::Verdict;
using Numbers = std::vector<double>;

TEST_CASE("against random: a method that is always better, its mirror, and chance", "[explain]") {
  const std::vector<Numbers> random = {{1, 2, 3, 4, 5, 6, 7, 8}, {3, 2, 1, 4, 5, 6, 7, 8}};
  const std::vector<Numbers> values = {
      {4, 3, 5, 6, 6, 9, 8, 9}, {1, 1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 4, 5, 6, 7, 8}};
  const auto higher = against_random(values, random, Better::kHigher);
  REQUIRE(higher.size() == 3);
  CHECK(higher[0].difference.mean == Approx((2 + 1 + 3 + 2 + 1 + 3 + 1 + 1) / 8.0));
  CHECK(higher[0].p == Approx(2.0 / 256));
  CHECK(higher[0].p_holm == Approx(3 * 2.0 / 256));
  CHECK(higher[0].win_rate == 1);
  CHECK(higher[0].verdict() == Verdict::kBetter);
  CHECK(higher[1].verdict() == Verdict::kWorse);
  CHECK(higher[2].p == 1);
  CHECK(higher[2].win_rate == 0.5);
  CHECK(higher[2].verdict() == Verdict::kNotDistinguishable);
  const auto lower = against_random(values, random, Better::kLower);
  CHECK(lower[0].verdict() == Verdict::kWorse);
  CHECK(lower[1].difference.mean == Approx(-higher[1].difference.mean));
  CHECK(explain::too_few(5).find("at least 6") != std::string::npos);
  CHECK(explain::too_few(6).empty());
}

TEST_CASE("against random: images without a score are left out and counted", "[explain]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto one =
      against_random(std::vector<Numbers>{{1, nan, 3, 4}},
                     std::vector<Numbers>{{0, 0, nan, 0}, {0, 0, 1, 0}}, Better::kHigher)[0];
  CHECK(one.left_out == 1);
  CHECK(one.value.n == 3);
  CHECK(one.difference.n == 3);
  CHECK(one.difference.mean == Approx((1 + 2 + 4) / 3.0));
  CHECK_THROWS_AS(against_random(std::vector<Numbers>{{1}}, {}, Better::kHigher), ShapeError);
  CHECK_THROWS_AS(
      against_random(std::vector<Numbers>{{1}}, std::vector<Numbers>{{1, 2}}, Better::kHigher),
      ShapeError);
}

TEST_CASE("against random: the interval of random relevance holds 0 in most runs", "[explain]") {
  const RandomStream stream = RandomStream(3).fork("chance");
  int holds = 0;
  for (std::uint64_t run = 0; run < 200; ++run) {
    std::vector<Numbers> draws(6);
    for (std::size_t k = 0; k < draws.size(); ++k) {
      const RandomStream own = stream.fork(run).fork(k);
      for (std::uint64_t i = 0; i < 20; ++i) draws[k].push_back(own.normal(i));
    }
    const auto one =
        against_random(std::span(draws).first(1), std::span(draws).subspan(1), Better::kHigher)[0];
    if (one.difference.low <= 0 && 0 <= one.difference.high) ++holds;
  }
  // 190 expected, standard deviation 3.1.
  CHECK(holds >= 180);
  CHECK(holds <= 199);
}
