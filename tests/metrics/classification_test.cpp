#include "metrics/classification.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "tensor/random.h"
#include "tests/support/tensors.h"

using namespace fovea;
using metrics::top_k_correct;

namespace {

Tensor logits(const std::vector<float>& values, std::int64_t classes) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size()) / classes, classes},
                      test::cpu());
}

Tensor labels(const std::vector<std::int64_t>& values) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size())}, test::cpu());
}

}  // namespace

TEST_CASE("accuracy: equal logits go to the lowest index, nan is never predicted", "[metrics]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = logits({1, 1, 1, /**/ 0, 2, 2, /**/ nan, 0, -1, /**/ nan, nan, nan}, 3);
  CHECK(metrics::predictions(x) == std::vector<std::int64_t>{0, 1, 1, 0});
  CHECK(top_k_correct(x, labels({0, 1, 1, 0}), 1) == 4);
  CHECK(top_k_correct(x, labels({1, 2, 0, 1}), 1) == 0);
  CHECK(top_k_correct(x, labels({1, 2, 2, 1}), 2) == 4);
  CHECK(top_k_correct(x, labels({2, 0, 0, 2}), 2) == 0);
  CHECK(top_k_correct(x, labels({2, 0, 0, 2}), 5) == 4);
}

TEST_CASE("accuracy: agrees with sorting every row", "[metrics]") {
  const std::int64_t classes = 7;
  const Tensor x = test::random_tensor({50, classes}, 3);
  std::vector<std::int64_t> truth;
  for (std::uint64_t i = 0; i < 50; ++i) truth.push_back(RandomStream(5).below(classes, i));
  for (const std::int64_t k : {1, 3, 7}) {
    std::int64_t expected = 0;
    for (std::int64_t r = 0; r < 50; ++r) {
      const double* row = x.data<double>() + r * classes;
      std::vector<double> sorted(row, row + classes);
      std::sort(sorted.rbegin(), sorted.rend());
      expected +=
          row[truth[static_cast<std::size_t>(r)]] >= sorted[static_cast<std::size_t>(k - 1)];
    }
    CHECK(top_k_correct(x, labels(truth), k) == expected);
  }
}

TEST_CASE("accuracy: wrong shapes and labels are refused", "[metrics]") {
  const Tensor x = logits({1, 2, 3, 4}, 2);
  CHECK_THROWS_AS(top_k_correct(x, labels({0}), 1), ShapeError);
  CHECK_THROWS_WITH(top_k_correct(x, labels({0, 2}), 1), Catch::Contains("label 2 of row 1"));
  CHECK_THROWS_AS(top_k_correct(x, labels({0, -1}), 1), ShapeError);
  CHECK_THROWS_AS(metrics::predictions(labels({0, 1})), ShapeError);
}

TEST_CASE("confusion matrix: rows are the truth", "[metrics]") {
  metrics::ConfusionMatrix matrix(3);
  CHECK(std::isnan(matrix.accuracy()));
  const std::vector<std::int64_t> truth = {0, 0, 1, 1};
  const std::vector<std::int64_t> predicted = {0, 1, 1, 1};
  matrix.add(truth, predicted);
  CHECK(matrix.count(0, 1) == 1);
  CHECK(matrix.count(1, 0) == 0);
  CHECK(matrix.total() == 4);
  CHECK(matrix.accuracy() == 0.75);
  const std::vector<double> accuracy = class_accuracy(class_counts(matrix));
  CHECK(accuracy[0] == 0.5);
  CHECK(accuracy[1] == 1.0);
  CHECK(std::isnan(accuracy[2]));
  const std::vector<std::int64_t> outside = {3};
  CHECK_THROWS_AS(matrix.add(outside, outside), ShapeError);
  CHECK_THROWS_AS(matrix.add(truth, outside), ShapeError);
}

TEST_CASE("running mean: unequal batches count by their samples", "[metrics]") {
  metrics::RunningMean mean;
  CHECK(std::isnan(mean.value()));
  mean.add(1.0, 3);
  mean.add(5.0, 1);
  CHECK(mean.value() == 2.0);
}
