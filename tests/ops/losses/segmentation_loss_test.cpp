#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "ops/conv/convolution.h"
#include "ops/losses/loss.h"
#include "ops/shape.h"
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
        return ops::bce_dice(t[0], target, {.bce_weight = 2, .dice_weight = 0.5});
      },
      {prob});
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

namespace {

constexpr std::int64_t kIgnored = ops::CrossEntropyOptions{}.ignore_index;

// Labels (2, 2, 3) of three classes; one pixel of the first image and two of the second do not
// count.
Tensor label_map() {
  return Tensor::from<std::int64_t>({0, 2, 1, kIgnored, 1, 1, 2, 2, kIgnored, 0, kIgnored, 2},
                                    {2, 2, 3}, cpu());
}

// By pixel and class: softmax of (b, k, h, w), written out.
std::vector<std::vector<double>> softmax_of_pixels(const Tensor& logits) {
  const auto values = to_doubles(logits);
  const auto classes = static_cast<std::size_t>(logits.size(1));
  const auto plane = static_cast<std::size_t>(logits.size(2) * logits.size(3));
  std::vector<std::vector<double>> all;
  for (std::size_t b = 0; b < static_cast<std::size_t>(logits.size(0)); ++b) {
    for (std::size_t pixel = 0; pixel < plane; ++pixel) {
      std::vector<double>& p = all.emplace_back();
      double sum = 0;
      for (std::size_t k = 0; k < classes; ++k) {
        p.push_back(std::exp(values[(b * classes + k) * plane + pixel]));
        sum += p.back();
      }
      for (double& share : p) share /= sum;
    }
  }
  return all;
}

}  // namespace

TEST_CASE("pixel_cross_entropy, label_dice: values by hand, ignored pixels left out", "[ops]") {
  const Tensor logits = random_tensor({2, 3, 2, 3}, 1);
  const auto p = softmax_of_pixels(logits);
  const auto labels = label_map().host_values<std::int64_t>();
  double entropy = 0, counted = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (labels[i] == kIgnored) continue;
    entropy -= std::log(p[i][static_cast<std::size_t>(labels[i])]);
    ++counted;
  }
  CHECK(ops::pixel_cross_entropy(logits, label_map()).item<double>() == Approx(entropy / counted));
  REQUIRE(counted < 12);
  CHECK(ops::pixel_cross_entropy(logits, label_map(), {.count_ignored = true}).item<double>() ==
        Approx(entropy / 12));
  const std::vector<double> weights{0.5, 1, 2};
  double weighted = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (labels[i] == kIgnored) continue;
    const auto label = static_cast<std::size_t>(labels[i]);
    weighted -= weights[label] * std::log(p[i][label]);
  }
  const ops::CrossEntropyOptions all_weighted{.class_weights = weights, .count_ignored = true};
  CHECK(ops::pixel_cross_entropy(logits, label_map(), all_weighted).item<double>() ==
        Approx(weighted / 12));

  for (const bool background : {true, false}) {
    const std::size_t first = background ? 0 : 1;
    double loss = 0;
    for (std::size_t item = 0; item < 2; ++item) {
      for (std::size_t k = first; k < 3; ++k) {
        double both = 0, all = 0;
        for (std::size_t i = 6 * item; i < 6 * item + 6; ++i) {
          if (labels[i] == kIgnored) continue;
          const double t = labels[i] == static_cast<std::int64_t>(k) ? 1 : 0;
          both += p[i][k] * t;
          all += p[i][k] + t;
        }
        loss += (1 - (2 * both + 0.5) / (all + 0.5)) / (2 * (3 - static_cast<double>(first)));
      }
    }
    const ops::LabelDiceOptions options{.smooth = 0.5, .background = background};
    CHECK(ops::label_dice(logits, label_map(), options).item<double>() == Approx(loss));
  }
}

TEST_CASE("pixel_cross_entropy, label_dice: gradients, of planes and volumes", "[ops]") {
  const Tensor logits = random_tensor({2, 3, 2, 3}, 1);
  check_gradients([](const auto& t) { return ops::pixel_cross_entropy(t[0], label_map()); },
                  {logits});
  check_gradients(
      [](const auto& t) {
        return ops::pixel_cross_entropy(t[0], label_map(), {.count_ignored = true});
      },
      {logits});
  check_gradients([](const auto& t) { return ops::label_dice(t[0], label_map()); }, {logits});
  const Tensor volume = ops::reshape(label_map(), {2, 1, 2, 3});
  const Tensor deep = ops::reshape(logits.detach(), {2, 3, 1, 2, 3});
  for (const bool background : {true, false}) {
    const ops::LabelDiceOptions options{.background = background};
    check_gradients([&](const auto& t) { return ops::label_dice(t[0], volume, options); }, {deep});
    CHECK(ops::label_dice(deep, volume, options).item<double>() ==
          ops::label_dice(logits, label_map(), options).item<double>());
  }
  check_gradients(
      [&](const auto& t) {
        return ops::pixel_cross_entropy(t[0], volume, {.label_smoothing = 0.1});
      },
      {deep});
}

TEST_CASE("losses of label maps: labels out of range are refused where the host sees them",
          "[ops][host]") {
  const Tensor logits = random_tensor({2, 2, 2, 3}, 1);
  CHECK_THROWS_WITH(ops::pixel_cross_entropy(logits, label_map()),
                    Catch::Contains("cross_entropy: target 2 is outside [0, 2)"));
  CHECK_THROWS_WITH(ops::label_dice(logits, label_map()),
                    Catch::Contains("dice: target 2 is outside [0, 2)"));
}

TEST_CASE("losses of label maps: what does not fit is refused", "[ops]") {
  const Tensor logits = random_tensor({2, 2, 2, 3}, 1);
  CHECK_THROWS_WITH(ops::label_dice(logits, random_tensor({2, 2, 3}, 1)),
                    Catch::Contains("targets float64 (2, 2, 3); expected logits (b, classes, ...) "
                                    "and int64 labels (b, ...)"));
  CHECK_THROWS_WITH(ops::pixel_cross_entropy(random_tensor({2, 3, 3, 2}, 1), label_map()),
                    Catch::Contains("logits are (2, 3, 3, 2)"));
}

TEST_CASE("over_maps: the weighted sum of the losses of resized maps", "[ops]") {
  const Tensor target = uniform_tensor({2, 1, 4, 6}, 0, 1, 2);
  const std::vector<Tensor> maps{random_tensor({2, 1, 4, 6}, 3), random_tensor({2, 1, 2, 3}, 4)};
  const auto loss = [&](const Tensor& map) { return ops::mse(map, target); };
  const double fine = loss(maps[0]).item<double>();
  const double coarse =
      loss(ops::resize(maps[1], {4, 6}, ops::Interpolation::kLinear)).item<double>();
  CHECK(ops::over_maps(maps, {}, {4, 6}, loss).item<double>() == Approx(fine + coarse));
  CHECK(ops::over_maps(maps, {1, 0.25}, {4, 6}, loss).item<double>() ==
        Approx(fine + 0.25 * coarse));
  check_gradients(
      [&](const auto& t) {
        return ops::over_maps({t[0], t[1]}, {0.5, 2}, {4, 6}, loss);
      },
      maps);
  CHECK_THROWS_WITH(ops::over_maps(maps, {1}, {4, 6}, loss),
                    Catch::Contains("1 weights for 2 maps"));
}
