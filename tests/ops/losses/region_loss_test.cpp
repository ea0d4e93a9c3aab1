#include "ops/losses/region_loss.h"

#include "base/error.h"
#include "ops/elementwise.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Labels (2, 3, 4) of three classes and one pixel that does not count.
Tensor labels() {
  return Tensor::from<std::int64_t>({0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, -100,  //
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0},
                                    {2, 3, 4}, cpu());
}

// Logits by which every pixel is of class `k` for certain.
Tensor certain(const Tensor& labels_of, std::int64_t classes) {
  const std::int64_t pixels = labels_of.size(1) * labels_of.size(2);
  std::vector<double> values(static_cast<std::size_t>(labels_of.size(0) * classes * pixels), -50);
  const auto class_of = labels_of.host_values<std::int64_t>();
  for (std::int64_t i = 0; i < labels_of.numel(); ++i) {
    const std::int64_t k = class_of[static_cast<std::size_t>(i)];
    if (k < 0) continue;
    values[static_cast<std::size_t>((i / pixels * classes + k) * pixels + i % pixels)] = 50;
  }
  return Tensor::from(values, {labels_of.size(0), classes, labels_of.size(1), labels_of.size(2)},
                      cpu());
}

}  // namespace

TEST_CASE("boundary_dou: gradients with every option", "[ops]") {
  const Tensor logits = random_tensor({2, 3, 3, 4}, 1);
  for (const ops::RegionLossOptions& o :
       {ops::RegionLossOptions{}, ops::RegionLossOptions{.sigmoid = true},
        ops::RegionLossOptions{.class_weights = {0.5, 1, 2}}}) {
    check_gradients([&](const auto& t) { return ops::boundary_dou(t[0], labels(), o); }, {logits});
  }
}

TEST_CASE("label_dice: gradients over the batch, with squares, sigmoid and weights", "[ops]") {
  const Tensor logits = random_tensor({2, 3, 3, 4}, 1);
  for (const ops::LabelDiceOptions& o :
       {ops::LabelDiceOptions{.batch = true}, ops::LabelDiceOptions{.squared_pred = true},
        ops::LabelDiceOptions{.batch = true, .squared_pred = true, .sigmoid = true},
        ops::LabelDiceOptions{.class_weights = {0.5, 1, 2}},
        ops::LabelDiceOptions{.background = false, .batch = true, .class_weights = {1, 3}}}) {
    check_gradients([&](const auto& t) { return ops::label_dice(t[0], labels(), o); }, {logits});
  }
}

TEST_CASE("label_dice: over the batch by hand", "[ops]") {
  // Of two images with one pixel each; the second has no pixel of class 1.
  const Tensor target = Tensor::from<std::int64_t>({1, 0}, {2, 1, 1}, cpu());
  const Tensor logits = Tensor::from<double>({0, 0, 0, 0}, {2, 2, 1, 1}, cpu());
  ops::LabelDiceOptions o{.smooth = 1e-9, .background = false};
  // Each image by itself: 1 - 2 * 0.5 / (0.5 + 1), and 1 - 0 / 0.5.
  CHECK(ops::label_dice(logits, target, o).item<double>() == Approx((1.0 / 3 + 1) / 2));
  o.batch = true;
  CHECK(ops::label_dice(logits, target, o).item<double>() == Approx(1 - 1.0 / 2));
  o.squared_pred = true;
  CHECK(ops::label_dice(logits, target, o).item<double>() == Approx(1 - 1 / 1.5));
  o.class_weights = {3};
  CHECK(ops::label_dice(logits, target, o).item<double>() == Approx(3 - 3 / 1.5));
}

TEST_CASE("label_dice, boundary_dou: a right map costs nothing", "[ops]") {
  const Tensor right = certain(labels(), 3);
  CHECK(ops::label_dice(right, labels(), {.batch = true, .squared_pred = true}).item<double>() ==
        Approx(0).margin(1e-6));
  CHECK(ops::boundary_dou(right, labels()).item<double>() == Approx(0).margin(1e-6));
}

TEST_CASE("boundary_dou: a class that is not there costs 1 and has no gradient", "[ops]") {
  const Tensor target = Tensor::from<std::int64_t>({0, 0, 0, 0}, {1, 2, 2}, cpu());
  const Tensor logits = trainable(random_tensor({1, 2, 2, 2}, 2));
  const Tensor both = ops::boundary_dou(logits, target, {.class_weights = {0, 2}});
  CHECK(both.item<double>() == Approx(1).epsilon(1e-12));
  autograd::backward(both);
  for (const double slope : to_doubles(logits.grad())) CHECK(std::abs(slope) < 1e-12);
}

TEST_CASE("boundary_dou: alpha is that of pixels with a neighbour of another class", "[ops]") {
  // 5 x 5 of one class: 16 pixels on the edge of 25; softmax of equal logits is 1 / 2 everywhere.
  const Tensor target = Tensor::from(std::vector<std::int64_t>(25, 0), {1, 5, 5}, cpu());
  const Tensor logits = random_tensor({1, 2, 5, 5}, 3);
  const Tensor level = ops::mul(logits, 0.0);
  const double alpha = 2 * (1 - 16.0 / 25) - 1;
  const double z = 25 * 0.25, y = 25, both = 12.5;
  const double expected = (z + y - 2 * both) / (z + y - (1 + alpha) * both);
  CHECK(ops::boundary_dou(level, target, {.class_weights = {2, 0}}).item<double>() ==
        Approx(expected).epsilon(1e-5));
}

TEST_CASE("label_dice, boundary_dou: pixels that do not count change nothing", "[ops]") {
  const Tensor logits = random_tensor({2, 3, 3, 4}, 4);
  const Tensor changed = logits.copy_on(cpu());
  // The first class at the pixel without a label.
  edit<double>(changed, [](auto values) { values[11] += 5; });
  const ops::LabelDiceOptions squares{.batch = true, .squared_pred = true};
  CHECK(ops::label_dice(logits, labels(), squares).item<double>() ==
        ops::label_dice(changed, labels(), squares).item<double>());
  CHECK(ops::boundary_dou(logits, labels()).item<double>() ==
        ops::boundary_dou(changed, labels()).item<double>());
}

TEST_CASE("label_dice, boundary_dou: what does not fit is refused", "[ops]") {
  const Tensor logits = random_tensor({2, 3, 3, 4}, 5);
  CHECK_THROWS_WITH(ops::label_dice(logits, labels(), {.class_weights = {1, 2}}),
                    Catch::Contains("dice: 2 class_weights for 3 classes"));
  CHECK_THROWS_WITH(ops::boundary_dou(logits, labels(), {.class_weights = {1, 2}}),
                    Catch::Contains("boundary_dou: 2 class_weights for 3 classes"));
  CHECK_THROWS_AS(ops::boundary_dou(random_tensor({2, 3, 3}, 1), labels()), ShapeError);
}
