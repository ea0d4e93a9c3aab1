#include "metrics/statistics.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "base/error.h"

using namespace fovea;

TEST_CASE("student: quantiles of the tables, and the distribution inverts them", "[metrics]") {
  // Two-sided 95 % points, as printed in every table of the distribution.
  CHECK(metrics::student_quantile(0.975, 1) == Approx(12.7062047364).epsilon(1e-9));
  CHECK(metrics::student_quantile(0.975, 2) == Approx(4.30265272991).epsilon(1e-9));
  CHECK(metrics::student_quantile(0.975, 4) == Approx(2.77644510520).epsilon(1e-9));
  CHECK(metrics::student_quantile(0.975, 30) == Approx(2.04227245630).epsilon(1e-9));
  CHECK(metrics::student_quantile(0.975, 1e6) == Approx(1.95996).epsilon(1e-5));
  CHECK(metrics::student_cdf(0, 3) == Approx(0.5));
  CHECK(metrics::student_cdf(1, 1) == Approx(0.75));
  for (const double p : {0.001, 0.3, 0.5, 0.9, 0.9999}) {
    CHECK(metrics::student_cdf(metrics::student_quantile(p, 5), 5) == Approx(p).epsilon(1e-10));
  }
}

TEST_CASE("summary: sample deviation and interval of five runs, nothing claimed from one",
          "[metrics]") {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  const metrics::Summary summary = metrics::summarise(values);
  CHECK(summary.n == 5);
  CHECK(summary.mean == Approx(3));
  CHECK(summary.std == Approx(std::sqrt(2.5)));
  CHECK(summary.ci95_high - summary.mean == Approx(2.7764451052 * std::sqrt(2.5 / 5)));
  CHECK(summary.mean - summary.ci95_low == Approx(summary.ci95_high - summary.mean));

  const std::vector<double> one = {7};
  CHECK(metrics::summarise(one).mean == 7);
  CHECK(std::isnan(metrics::summarise(one).std));
  CHECK(std::isnan(metrics::summarise(one).ci95_low));
  CHECK(std::isnan(metrics::summarise({}).mean));
}

TEST_CASE("paired comparison: p-value of a worked example", "[metrics]") {
  // Differences 1, 2, 3: mean 2, std 1, t = 2 sqrt(3), 2 degrees of freedom:
  // p = 1 - t / sqrt(2 + t^2).
  const std::vector<double> a = {2, 4, 6};
  const std::vector<double> b = {1, 2, 3};
  const metrics::Paired paired = metrics::compare_paired(a, b);
  CHECK(paired.difference.mean == Approx(2));
  CHECK(paired.p_value == Approx(1 - std::sqrt(12.0 / 14.0)));
  CHECK(std::isnan(metrics::compare_paired(a, a).p_value));
  const std::vector<double> shorter = {1};
  CHECK_THROWS_AS(metrics::compare_paired(a, shorter), ShapeError);
}
