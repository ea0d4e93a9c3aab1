#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "ops/loss.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("bce, dice_loss: gradients with soft targets", "[ops]") {
  const Tensor target = uniform_tensor({3, 1, 2, 5}, 0, 1, 2);
  const Tensor prob = uniform_tensor({3, 1, 2, 5}, 0.05, 0.95, 1);
  for (const auto reduction :
       {ops::Reduction::kMean, ops::Reduction::kSum, ops::Reduction::kNone}) {
    check_gradients([&](const auto& t) { return ops::bce(t[0], target, reduction); }, {prob});
  }
  check_gradients([&](const auto& t) { return ops::dice_loss(t[0], t[1], 0.5); }, {prob, target});
  check_gradients(
      [&](const auto& t) {
        return ops::bce_dice(t[0], {t[1]}, {0.3}, target, {.bce_weight = 2, .dice_weight = 0.5});
      },
      {prob, uniform_tensor({3, 1, 2, 5}, 0.05, 0.95, 3)});
}

TEST_CASE("bce: certain and wrong costs 100, its gradient stays finite", "[ops]") {
  const auto type = GENERATE(DType::kFloat32, DType::kFloat64);
  const auto row = [&](const std::vector<float>& values) {
    const Tensor x = Tensor::from(values, {4}, cpu());
    return type == DType::kFloat32 ? x : Tensor::from(to_doubles(x), {4}, cpu());
  };
  const Tensor prob = trainable(row({0, 1, 0, 1}));
  const Tensor loss = ops::bce(prob, row({1, 0, 0, 1}), ops::Reduction::kNone);
  CHECK(to_doubles(loss) == std::vector<double>{100, 100, 0, 0});
  autograd::backward(ops::bce(prob, row({1, 0, 0, 1})));
  for (const double slope : to_doubles(prob.grad())) CHECK(std::isfinite(slope));
}

TEST_CASE("dice_loss: perfect and empty masks cost nothing, each sample counts the same", "[ops]") {
  const auto maps = [](const std::vector<double>& values) {
    return Tensor::from(values, {2, 1, 1, 4}, cpu());
  };
  const Tensor truth = maps({1, 1, 0, 0, 0, 0, 0, 0});
  CHECK(ops::dice_loss(truth, truth).item<double>() == 0.0);
  // First sample: 1 - (2 + 1) / (1 + 2 + 1); second: 1 - 1 / 2.
  CHECK(ops::dice_loss(maps({1, 0, 0, 0, 0, 0, 0, 1}), truth).item<double>() == Approx(0.375));
  CHECK_THROWS_WITH(ops::dice_loss(truth, random_tensor({2, 4}, 1)),
                    Catch::Contains("dice_loss: probabilities are (2, 1, 1, 4), targets (2, 4)"));
}
