#include "metrics/generation.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("generation metrics: mean and unbiased covariance", "[metrics]") {
  const auto s = metrics::feature_statistics(
      Tensor::from(std::vector<double>{1, 0, 3, 4, 5, 2}, {3, 2}, cpu()));
  CHECK(s.rows == 3);
  CHECK(s.mean == std::vector<double>{3, 2});
  CHECK(s.covariance == std::vector<double>{4, 2, 2, 4});
  CHECK_THROWS_AS(
      metrics::feature_statistics(Tensor::from(std::vector<double>{1, 2}, {1, 2}, cpu())),
      ShapeError);
}

TEST_CASE("generation metrics: distance of normal distributions with known roots", "[metrics]") {
  // Diagonal covariances: the sum of (m1 - m2)^2 + (sd1 - sd2)^2.
  const metrics::FeatureStatistics a{9, {0, 1}, {4, 0, 0, 9}}, b{9, {3, 1}, {1, 0, 0, 25}};
  CHECK(metrics::frechet_distance(a, b) == Approx(9 + 1 + 4));
  CHECK(metrics::frechet_distance(a, a) == Approx(0).margin(1e-12));
  // Features that never change: a covariance without rank.
  const metrics::FeatureStatistics flat{9, {0, 0}, {0, 0, 0, 0}};
  CHECK(metrics::frechet_distance(a, flat) == Approx(1 + 4 + 9));
  CHECK_THROWS_AS(metrics::frechet_distance(a, {9, {0}, {1}}), ShapeError);
}

TEST_CASE("generation metrics: the distance is symmetric and does not see a rotation",
          "[metrics]") {
  const Tensor x = random_tensor({40, 5}, 3), y = random_tensor({30, 5}, 4);
  const auto turned = [](const Tensor& rows) {
    std::vector<double> values = to_doubles(rows);
    for (std::size_t i = 0; i < values.size(); i += 5) {
      const double a = values[i + 1], b = values[i + 4];
      values[i + 1] = 0.6 * a - 0.8 * b;
      values[i + 4] = 0.8 * a + 0.6 * b;
    }
    return Tensor::from(values, rows.shape(), cpu());
  };
  const auto of = [](const Tensor& rows) { return metrics::feature_statistics(rows); };
  const double distance = metrics::frechet_distance(of(x), of(y));
  CHECK(distance > 0.01);
  CHECK(metrics::frechet_distance(of(y), of(x)) == Approx(distance).epsilon(1e-9));
  CHECK(metrics::frechet_distance(of(turned(x)), of(turned(y))) == Approx(distance).epsilon(1e-9));
}

TEST_CASE("generation metrics: inception score of certain and of undecided classifiers",
          "[metrics]") {
  std::vector<double> certain(12 * 3, 0.0), undecided(12 * 3, 1.0);
  for (std::size_t i = 0; i < 12; ++i) certain[3 * i + i % 3] = 800;
  const auto of = [](const std::vector<double>& logits, std::int64_t splits) {
    return metrics::inception_score(Tensor::from(logits, {12, 3}, cpu()), splits);
  };
  CHECK(of(certain, 2).mean == Approx(3));  // every class as often
  CHECK(of(certain, 2).std == Approx(0).margin(1e-12));
  CHECK(of(undecided, 4).mean == Approx(1));
  CHECK(of(certain, 12).mean == Approx(1));  // parts of one row
  CHECK_THROWS_AS(of(certain, 13), ShapeError);
}
