#include "metrics/statistics.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

using namespace fovea::metrics;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("statistics: mean, sample deviation and t interval of five values", "[metrics]") {
  const std::vector<double> values = {78.1, 77.5, 78.6, 78.4, 77.7};
  const Estimate e = estimate(values);
  CHECK(e.n == 5);
  CHECK(e.mean == Approx(78.06).epsilon(1e-12));
  CHECK(e.std == Approx(0.461519230368573).epsilon(1e-12));
  // 2.7764451 * 0.46151923 / sqrt(5)
  CHECK(e.high - e.mean == Approx(0.573052).epsilon(1e-5));
  CHECK(e.mean - e.low == Approx(e.high - e.mean).epsilon(1e-9));
}

TEST_CASE("statistics: one value has no spread and no interval, none has nothing", "[metrics]") {
  const std::vector<double> one = {3.5};
  CHECK(std::isnan(estimate(one).std));
  CHECK(std::isnan(estimate(one).low));
  CHECK(estimate({}).n == 0);
  CHECK(std::isnan(estimate({}).mean));
}

TEST_CASE("statistics: Student's bounds equal the printed tables", "[metrics]") {
  CHECK(student_bound(0.95, 1) == Approx(12.7062047).epsilon(1e-8));
  CHECK(student_bound(0.95, 2) == Approx(4.30265273).epsilon(1e-8));
  CHECK(student_bound(0.95, 3) == Approx(3.18244631).epsilon(1e-8));
  CHECK(student_bound(0.95, 4) == Approx(2.77644511).epsilon(1e-8));
  CHECK(student_bound(0.99, 9) == Approx(3.24983554).epsilon(1e-8));
  CHECK(student_bound(0.95, 30) == Approx(2.04227246).epsilon(1e-8));
  CHECK(student_inside(student_bound(0.9, 7), 7) == Approx(0.9).epsilon(1e-12));
}

TEST_CASE("statistics: the exact test counts the sign patterns", "[metrics]") {
  CHECK(exact_p(std::vector<double>{1, 2, 3, 4, 5}) == 0.0625);
  // Of the 8 sums only +-(3 + 2 - 1) and +-(3 + 2 + 1) are at least as far as 4.
  CHECK(exact_p(std::vector<double>{3, 2, -1}) == 0.5);
  CHECK(exact_p(std::vector<double>{0, 0, 0}) == 1.0);
  // 0.1 + 0.2 and 0.3 differ in the last bit, which must not decide.
  CHECK(exact_p(std::vector<double>{0.1, 0.2, -0.3}) == 1.0);
  CHECK(std::isnan(exact_p({})));
  CHECK(std::isnan(exact_p(std::vector<double>{1, kNaN})));
  CHECK(std::isnan(exact_p(std::vector<double>(21, 1.0))));
}

TEST_CASE("statistics: the smallest p and the pairs needed for one", "[metrics]") {
  CHECK(smallest_p(0) == 1.0);
  CHECK(smallest_p(1) == 1.0);
  CHECK(smallest_p(3) == 0.25);
  CHECK(smallest_p(5) == 0.0625);
  CHECK(pairs_needed(0.05) == 6);
  CHECK(pairs_needed(0.01) == 8);
}

TEST_CASE("statistics: Holm's adjustment in the given order", "[metrics]") {
  const std::vector<double> adjusted = holm(std::vector<double>{0.01, 0.04, kNaN, 0.03, 0.005});
  CHECK(adjusted[0] == Approx(0.03));
  CHECK(adjusted[1] == Approx(0.06));  // 0.04 alone would be smaller than the one before
  CHECK(std::isnan(adjusted[2]));
  CHECK(adjusted[3] == Approx(0.06));
  CHECK(adjusted[4] == Approx(0.02));
  CHECK(holm(std::vector<double>{0.7, 0.8}) == std::vector<double>{1.0, 1.0});
}

TEST_CASE("statistics: median of odd and even counts", "[metrics]") {
  CHECK(median({3, 1, 2}) == 2.0);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(std::isnan(median({})));
}

TEST_CASE("statistics: Wilcoxon's signed ranks, with ties, zeros and many cases", "[metrics]") {
  // scipy.stats.wilcoxon, and all 2^9 ways for the second.
  const std::vector<double> few = {1.5, -0.4, 2.2, 0.9, -1.1, 3.0, 0.7, 1.8};
  CHECK(signed_rank_p(few) == Approx(0.078125).epsilon(1e-12));
  const std::vector<double> tied = {1, 1, -1, 2, 2, 3, -2, 0, 4, 1};
  CHECK(signed_rank_p(tied) == Approx(0.12109375).epsilon(1e-12));
  std::vector<double> many;
  for (int i = 0; i < 80; ++i) many.push_back(i * 37 % 23 - 9.0);
  CHECK(signed_rank_p(many) == Approx(0.027063972472957155).epsilon(1e-9));
  for (double& value : many) value = -value;
  CHECK(signed_rank_p(many) == Approx(0.027063972472957155).epsilon(1e-9));
  CHECK(signed_rank_p(std::vector<double>{0, 0, 0}) == 1);
  CHECK(std::isnan(signed_rank_p({})));
  CHECK(std::isnan(signed_rank_p(std::vector<double>{1, kNaN})));
}

TEST_CASE("statistics: flipped signs over cases", "[metrics]") {
  // Cases that do not differ say nothing.
  const std::vector<double> few = {1.5, -0.4, 2.2, 0.9, -1.1, 3.0, 0.7, 1.8};
  std::vector<double> padded(40, 0.0);
  padded.insert(padded.end(), few.begin(), few.end());
  CHECK(sign_flip_p(padded) == exact_p(few));
  CHECK(sign_flip_p(few) == exact_p(few));
  // Of 30 of one sign no random flip comes as far.
  CHECK(sign_flip_p(std::vector<double>(30, 1.0)) == Approx(1e-4).epsilon(1e-12));
  // 60 wins against 40: binomial, 0.0569.
  std::vector<double> votes(60, 100.0);
  votes.insert(votes.end(), 40, -100.0);
  CHECK(sign_flip_p(votes) == Approx(0.0569).margin(0.008));
  CHECK(sign_flip_p(votes) == sign_flip_p(votes));
  CHECK(sign_flip_p(std::vector<double>(30, 0.0)) == 1);
  CHECK(std::isnan(sign_flip_p({})));
}
