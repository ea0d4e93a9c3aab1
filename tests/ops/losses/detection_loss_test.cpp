#include "ops/losses/detection_loss.h"

#include <cmath>

#include "base/error.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

Tensor labels(const std::vector<std::int64_t>& values) {
  return Tensor::from(values, {std::ssize(values)}, cpu());
}
Tensor rows(const std::vector<double>& values, std::int64_t columns) {
  return Tensor::from(values, {std::ssize(values) / columns, columns}, cpu());
}

double focal(double logit, bool own, double alpha, double gamma) {
  const double p = 1 / (1 + std::exp(-logit));
  return own ? -alpha * std::pow(1 - p, gamma) * std::log(p)
             : -(1 - alpha) * std::pow(p, gamma) * std::log(1 - p);
}

// Boxes with an area, overlapping ones and ones apart.
std::pair<Tensor, Tensor> some_boxes() {
  return {rows({0, 0, 4, 4, 1, 1, 3, 3, 0, 0, 2, 2, 2.5, 1, 9, 7}, 4),
          rows({2, 1, 6, 5, 0, 0, 8, 8, 5, 6, 9, 7, 1, 2, 4, 11}, 4)};
}

}  // namespace

TEST_CASE("sigmoid_focal_loss: a class, background, rows that do not count", "[ops]") {
  const std::vector<double> x{0.3, -1.2, 2, 0.1, -0.4, 1.5};
  double sum = focal(0.3, false, 0.3, 1.5) + focal(-1.2, true, 0.3, 1.5);
  for (const double logit : {2.0, 0.1}) sum += focal(logit, false, 0.3, 1.5);
  check_values(ops::sigmoid_focal_loss(rows(x, 2), labels({1, 2, -1}), 0.3, 1.5), {sum});
  check_values(
      ops::sigmoid_focal_loss(rows({0.7, -2}, 2), labels({0}), 0.25, 2, ops::Reduction::kNone),
      {focal(0.7, true, 0.25, 2), focal(-2, false, 0.25, 2)});
  // With gamma 0 and alpha a half it is half a cross-entropy.
  check_values(ops::sigmoid_focal_loss(rows({0.7}, 1), labels({0}), 0.5, 0),
               {0.5 * std::log1p(std::exp(-0.7))});
}

TEST_CASE("sigmoid_focal_loss: large logits stay finite", "[ops]") {
  const Tensor x = trainable(rows({900, -900, -900, 900}, 2));
  const Tensor loss = ops::sigmoid_focal_loss(x, labels({0, 0}));
  check_values(loss, {0.25 * 900 + 0.75 * 900});
  autograd::backward(loss);
  check_values(x.grad(), {0, 0, -0.25, 0.75});
}

TEST_CASE("sigmoid_focal_loss: gradients", "[ops]") {
  for (const double gamma : {0.0, 1.3, 2.0}) {
    check_gradients(
        [&](const auto& t) {
          return ops::sigmoid_focal_loss(t[0], labels({2, 3, -1, 0, 3}), 0.25, gamma);
        },
        {random_tensor({5, 3}, 1)});
  }
  CHECK_THROWS_AS(ops::sigmoid_focal_loss(rows({1, 2}, 2), labels({0, 1})), ShapeError);
}

TEST_CASE("smooth_l1: both of its parts, and plain distances", "[ops]") {
  const Tensor x = rows({0.1, -0.3, 2, 0}, 4), target = rows({0, 0, 0, 5}, 4);
  check_values(ops::smooth_l1(x, target, 0.5, ops::Reduction::kNone), {0.01, 0.09, 1.75, 4.75});
  check_values(ops::smooth_l1(x, target, 0.5, ops::Reduction::kSum), {6.6});
  check_values(ops::smooth_l1(x, target), {7.4 / 4});
  for (const double beta : {0.0, 0.4, 1.0}) {
    check_gradients(
        [&](const auto& t) { return ops::smooth_l1(t[0], t[1], beta, ops::Reduction::kSum); },
        {random_tensor({3, 4}, 1), random_tensor({3, 4}, 2)});
  }
  CHECK_THROWS_AS(ops::smooth_l1(x, rows({1}, 1)), ShapeError);
  CHECK_THROWS_AS(ops::smooth_l1(x, x, -1), ShapeError);
}

TEST_CASE("giou_loss: overlapping boxes, boxes inside and apart, equal ones", "[ops]") {
  const auto [a, b] = some_boxes();
  // Areas of intersection, union and hull: 6, 26, 30; 4, 64, 64; 0, 8, 63; 7.5, 58.5, 80.
  check_values(ops::giou_loss(a, b), {1 - (6.0 / 26 - 4.0 / 30), 1 - 4.0 / 64, 1 + 55.0 / 63,
                                      1 - (7.5 / 58.5 - 21.5 / 80)});
  check_values(ops::giou_loss(a, a), {0, 0, 0, 0});
}

TEST_CASE("giou_loss: boxes of no area have finite losses and gradients", "[ops]") {
  const Tensor a = trainable(rows({3, 3, 3, 3, 1, 2, 5, 2, 5, 5, 2, 2}, 4));
  const Tensor loss = ops::giou_loss(a, rows({3, 3, 3, 3, 0, 0, 4, 4, 0, 0, 6, 6}, 4));
  backward_ramp(loss);
  for (const double value : to_doubles(loss)) CHECK(std::isfinite(value));
  for (const double value : to_doubles(a.grad())) CHECK(std::isfinite(value));
}

TEST_CASE("giou_loss: gradients", "[ops]") {
  const auto [a, b] = some_boxes();
  check_gradients([](const auto& t) { return ops::giou_loss(t[0], t[1]); },
                  {a, uniform_tensor({4, 4}, 0, 0.3, 3)});
  check_gradients([](const auto& t) { return ops::giou_loss(t[0], t[1]); }, {a, b});
}

TEST_CASE("mask_bce: the map of an object's own class", "[ops]") {
  const Tensor x = random_tensor({3, 2, 2, 2}, 1);
  const Tensor targets =
      Tensor::from<double>({1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1}, {3, 2, 2}, cpu());
  const std::vector<std::int64_t> own{1, 0, 1};
  const std::vector<double> logits = to_doubles(x), truth = to_doubles(targets);
  double sum = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t object = i / 4;
    const double logit = logits[(2 * object + static_cast<std::size_t>(own[object])) * 4 + i % 4];
    sum += std::log1p(std::exp(logit)) - logit * truth[i];
  }
  check_values(ops::mask_bce(x, labels(own), targets), {sum / 12});
  check_gradients([&](const auto& t) { return ops::mask_bce(t[0], labels(own), targets.detach()); },
                  {x});
  CHECK_THROWS_AS(ops::mask_bce(x, labels({0, 1}), targets), ShapeError);
}

TEST_CASE("losses of detectors: of nothing they are 0, with gradients of 0", "[ops]") {
  const Tensor x = trainable(random_tensor({0, 4}, 1));
  const Tensor loss = ops::smooth_l1(x, Tensor::empty_like(x.detach()), 0.1);
  check_values(loss, {0});
  autograd::backward(loss);
  CHECK(x.grad().shape() == Shape{0, 4});
  check_values(
      ops::mask_bce(random_tensor({0, 2, 3, 3}, 1), labels({}), random_tensor({0, 3, 3}, 1)), {0});
}
