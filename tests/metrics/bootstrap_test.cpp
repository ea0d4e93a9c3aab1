#include "metrics/bootstrap.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

using namespace fovea::metrics;

TEST_CASE("bootstrap: BCa of five values is that of all resamples", "[metrics]") {
  // numpy.percentile of all 3125 means; scipy.stats.bootstrap with 200,000 resamples gives the
  // same.
  const Interval found = bca_interval(std::vector<double>{0.3, 1.1, -0.2, 0.7, 2.9});
  CHECK(found.low == Approx(0.26).epsilon(1e-9));
  CHECK(found.high == Approx(2.18).epsilon(1e-9));
}

TEST_CASE("bootstrap: BCa of twelve values is close to SciPy's", "[metrics]") {
  const std::vector<double> values = {0.12, 0.5,  -0.4, 1.9,  0.33, 0.7,
                                      3.1,  0.05, 0.9,  0.21, -0.1, 0.66};
  const Interval found = bca_interval(values);
  CHECK(found.low == Approx(0.273).margin(0.02));
  CHECK(found.high == Approx(1.409).margin(0.04));
  CHECK(found.low == bca_interval(values).low);
}

TEST_CASE("bootstrap: no interval where it would say nothing", "[metrics]") {
  CHECK(std::isnan(bca_interval(std::vector<double>{1, 2, 3, 4}).low));
  CHECK(std::isnan(bca_interval(std::vector<double>{2, 2, 2, 2, 2}).low));
  CHECK(std::isnan(bca_interval(std::vector<double>{1, 2, NAN, 3, 4}).high));
  std::vector<double> many(kMostResampled + 1, 1.0);
  many[0] = 2;
  CHECK(std::isnan(bca_interval(many).low));
  many.pop_back();
  CHECK(bca_interval(many).low == Approx(1).margin(0.01));
}
