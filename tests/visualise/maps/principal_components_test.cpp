// Principal components against a covariance made by hand, their signs, and their colours.
#include "visualise/maps/principal_components.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

// Vectors c +- s_k a_k for orthonormal axes a_k: their mean is c, and with 2 m vectors the
// variance along a_k is 2 s_k^2 / (2 m - 1).
constexpr double kRoot = 0.70710678118654752;
const std::vector<std::vector<double>> kAxes = {
    {0.6, 0, -0.8, 0}, {0, kRoot, 0, -kRoot}, {0.8, 0, 0.6, 0}};
const std::vector<double> kSizes = {1, 3, 2};

Tensor known(double scale = 1) {
  std::vector<double> values;
  for (const double sign : {1.0, -1.0}) {
    for (std::size_t k = 0; k < kAxes.size(); ++k) {
      for (std::size_t c = 0; c < 4; ++c)
        values.push_back(static_cast<double>(c) + scale * sign * kSizes[k] * kAxes[k][c]);
    }
  }
  return Tensor::from(values, {6, 4}, test::cpu());
}

void check_axis(const Matrix& axes, std::int64_t k, const std::vector<double>& expected) {
  for (std::int64_t c = 0; c < axes.cols; ++c)
    CHECK(axes.at(k, c) == Approx(expected[static_cast<std::size_t>(c)]).margin(1e-12));
}

}  // namespace

TEST_CASE("principal components: axes, variances and scores of a known covariance", "[visualise]") {
  const PrincipalComponents found = principal_components(known(), 3);
  // The largest entry is positive; of two of one size the first.
  check_axis(found.axes, 0, {0, kRoot, 0, -kRoot});
  check_axis(found.axes, 1, {0.8, 0, 0.6, 0});
  check_axis(found.axes, 2, {-0.6, 0, 0.8, 0});
  CHECK(found.variances[0] == Approx(2 * 9 / 5.0));
  CHECK(found.variances[1] == Approx(2 * 4 / 5.0));
  CHECK(found.variances[2] == Approx(2 * 1 / 5.0));
  CHECK(found.shares[0] == Approx(9 / 14.0));
  CHECK(found.shares[2] == Approx(1 / 14.0));
  // Vectors 0 and 3 are mean + and - the third axis, turned.
  CHECK(found.scores.at(0, 2) == Approx(-1));
  CHECK(found.scores.at(3, 2) == Approx(1));
  CHECK(found.scores.at(1, 0) == Approx(3));
  CHECK(found.scores.at(1, 1) == Approx(0).margin(1e-12));
}

TEST_CASE("principal components: signs do not depend on the sign or order of vectors",
          "[visualise]") {
  const Matrix axes = principal_components(known(), 3).axes;
  const Matrix turned = principal_components(known(-1), 3).axes;
  for (std::size_t i = 0; i < axes.values.size(); ++i)
    CHECK(turned.values[i] == Approx(axes.values[i]).margin(1e-12));
}

TEST_CASE("principal components: nothing varies, and what is refused", "[visualise]") {
  const Tensor same = Tensor::from(std::vector<double>(12, 2.5), {4, 3}, test::cpu());
  const PrincipalComponents found = principal_components(same, 2);
  CHECK(found.shares == std::vector<double>{0, 0});
  CHECK(found.scores.values == std::vector<double>(8, 0));
  CHECK(component_colours(found.scores).values == std::vector<double>(8, 0.5));
  // Four directions of four channels: the fourth holds no variance, not even rounding errors.
  const PrincipalComponents flat = principal_components(known(), 4);
  for (std::int64_t i = 0; i < 6; ++i) CHECK(flat.scores.at(i, 3) == 0);
  CHECK_THROWS_WITH(principal_components(same, 4),
                    Catch::Contains("4 of 4 vectors of 3 channels; expected"));
  CHECK_THROWS_AS(principal_components(same.rows(0, 1), 2), ShapeError);
  const Tensor bad = Tensor::from(std::vector<double>{1, 2, NAN, 4}, {2, 2}, test::cpu());
  CHECK_THROWS_AS(principal_components(bad, 1), NumericError);
}

TEST_CASE("component colours: each column to [0, 1], outliers clamped", "[visualise]") {
  Matrix scores{201, 2, {}};
  for (std::int64_t i = 0; i <= 200; ++i) {
    scores.values.push_back(i == 200 ? 1e6 : static_cast<double>(i));  // one outlier
    scores.values.push_back(static_cast<double>(-i));
  }
  const Matrix colours = component_colours(scores, 0.01);
  CHECK(colours.at(0, 0) == 0);
  CHECK(colours.at(2, 0) == 0);
  CHECK(colours.at(100, 0) == Approx(0.5));
  CHECK(colours.at(198, 0) == 1);
  CHECK(colours.at(200, 0) == 1);
  CHECK(colours.at(0, 1) == 1);
  CHECK(colours.at(100, 1) == Approx(0.5));
  const Matrix all = component_colours(scores, 0);
  CHECK(all.at(100, 0) == Approx(1e-4));
  CHECK(all.at(200, 0) == 1);
}
