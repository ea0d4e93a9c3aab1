#include "ops/losses/focal_loss.h"

#include "ops/create.h"
#include "ops/elementwise.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

Tensor three_rows() {
  return Tensor::from<double>({0.5, 1.0, -0.75, -1.0, 0.25, 1.5, 2.0, -0.5, 0.0}, {3, 3}, cpu());
}

Tensor three_labels(std::int64_t second = 2) {
  return Tensor::from<std::int64_t>({0, second, 1}, {3}, cpu());
}

}  // namespace

TEST_CASE("focal_loss: values are those of PyTorch's operations, with weights and ignored rows",
          "[ops]") {
  const std::vector<double> weights = {0.5, 1, 2};
  const auto value = [](const Tensor& target, const ops::FocalOptions& options) {
    return ops::focal_loss(three_rows(), target, options).item<double>();
  };
  CHECK(value(three_labels(), {}) == Approx(0.9453884161101541));
  CHECK(value(three_labels(), {.class_weights = weights}) == Approx(0.7499688209324854));
  CHECK(value(three_labels(-100), {.gamma = 1.5, .class_weights = weights}) ==
        Approx(1.8112458187000502));
  CHECK(value(three_labels(-100), {.reduction = ops::Reduction::kSum}) ==
        Approx(2 * value(three_labels(-100), {})));
  // Without a focus it is the cross-entropy.
  CHECK(value(three_labels(), {.gamma = 0, .class_weights = weights}) ==
        Approx(ops::cross_entropy(three_rows(), three_labels(), {.class_weights = weights})
                   .item<double>()));
  CHECK(value(Tensor::from<std::int64_t>({-100, -100, -100}, {3}, cpu()), {}) == 0);

  const Tensor soft = Tensor::from<double>({0.2, 0.3, 0.5, 1, 0, 0, 0, 0.5, 0.5}, {3, 3}, cpu());
  CHECK(ops::soft_focal_loss(three_rows(), soft, {.class_weights = weights}).item<double>() ==
        Approx(2.042034740302187));
}

TEST_CASE("binary_focal_loss: is torchvision's sigmoid_focal_loss, of soft masks too", "[ops]") {
  const Tensor masks = Tensor::from<double>({1, 0, 0.25, 0, 1, 1, 0, 0.5, 0}, {3, 3}, cpu());
  const auto value = [&](double alpha, double gamma) {
    return ops::binary_focal_loss(three_rows(), masks, alpha, gamma).item<double>();
  };
  CHECK(value(0.25, 2) == Approx(0.23422926414927359));
  CHECK(value(-1, 2) == Approx(0.334481520343073));
  CHECK(value(0.4, 0.5) == Approx(0.3360772198914452));
  CHECK(value(0.25, 0) == Approx(0.48542519071131274));
}

TEST_CASE("focal losses: gradients, and no trouble where nothing is wrong", "[ops]") {
  const double gamma = GENERATE(0.0, 0.5, 2.0);
  const ops::FocalOptions o{.gamma = gamma, .class_weights = {0.5, 1, 2}};
  check_gradients([&](const auto& t) { return ops::focal_loss(t[0], three_labels(-100), o); },
                  {random_tensor({3, 3}, 1)});
  const Tensor soft = uniform_tensor({3, 3}, 0, 1, 2);
  check_gradients([&](const auto& t) { return ops::soft_focal_loss(t[0], soft, o); },
                  {random_tensor({3, 3}, 3)});
  check_gradients(
      [&](const auto& t) {
        return ops::binary_focal_loss(t[0], soft, 0.25, gamma, ops::Reduction::kSum);
      },
      {random_tensor({3, 3}, 4)});
  const Tensor pixels = Tensor::from<std::int64_t>({0, 1, 1, 0, 1, -100, 0, 0}, {2, 2, 2}, cpu());
  check_gradients(
      [&](const auto& t) { return ops::pixel_focal_loss(t[0], pixels, {.gamma = gamma}); },
      {random_tensor({2, 2, 2, 2}, 5)});

  // All of the probability is on the label.
  const Tensor sure = trainable(Tensor::from<float>({200, -200, 0, -200, 200, 0}, {2, 3}, cpu()));
  const Tensor truth = Tensor::from<std::int64_t>({0, 1}, {2}, cpu());
  const Tensor loss = ops::focal_loss(sure, truth, {.gamma = gamma});
  autograd::backward(loss);
  CHECK(loss.item<float>() == 0);
  for (const double slope : to_doubles(sure.grad())) CHECK(slope == 0);
}

TEST_CASE("focal losses: labels out of range are refused where the host sees them", "[ops][host]") {
  CHECK_THROWS_WITH(ops::focal_loss(three_rows(), three_labels(3)),
                    Catch::Contains("focal_loss: target 3 is outside [0, 3)"));
}

TEST_CASE("focal losses: wrong shapes and weights are refused", "[ops]") {
  CHECK_THROWS_AS(ops::focal_loss(three_rows(), ops::zeros({2}, DType::kInt64, cpu())), ShapeError);
  CHECK_THROWS_WITH(ops::focal_loss(three_rows(), three_labels(), {.class_weights = {1, 2}}),
                    Catch::Contains("focal_loss: 2 class_weights for 3 classes"));
  CHECK_THROWS_AS(ops::soft_focal_loss(three_rows(), three_labels()), ShapeError);
  CHECK_THROWS_AS(ops::binary_focal_loss(three_rows(), ops::zeros({3}, DType::kFloat64, cpu())),
                  ShapeError);
}
