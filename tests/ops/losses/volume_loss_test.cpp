#include "ops/losses/volume_loss.h"

#include <cmath>

#include "base/error.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

Tensor labels(const std::vector<std::int64_t>& values, const Shape& shape) {
  return Tensor::from(values, shape, cpu());
}

}  // namespace

TEST_CASE("nnunet: gradients with every option", "[ops]") {
  const Tensor target = labels({0, 1, 2, 2, 1, 1, 0, -100, 0, 2, 1, 1}, {2, 1, 2, 3});
  const bool batch = GENERATE(false, true);
  const bool background = GENERATE(false, true);
  CAPTURE(batch, background);
  check_gradients(
      [&](const auto& t) {
        return ops::nnunet_loss(t[0], target,
                                {.background = background, .batch_dice = batch, .ce_weight = 0.5});
      },
      {random_tensor({2, 3, 1, 2, 3}, 1)});
}

TEST_CASE("nnunet: the loss of a sure and right prediction is -1", "[ops]") {
  const Tensor target = labels({0, 1, 1, 0}, {1, 2, 2});
  const Tensor logits =
      Tensor::from(std::vector<double>{50, -50, -50, 50, -50, 50, 50, -50}, {1, 2, 2, 2}, cpu());
  CHECK(ops::nnunet_loss(logits, target).item<double>() == Approx(-1));
  CHECK(ops::nnunet_loss(logits, target, {.dice_weight = 0}).item<double>() ==
        Approx(0).margin(1e-9));
}

TEST_CASE("nnunet: ignored places change nothing", "[ops]") {
  const Tensor some = random_tensor({1, 3, 4}, 1);
  const Tensor ignored = Tensor::from<double>({0, 7, 14}, {1, 3, 1}, cpu());
  const Tensor extended = ops::concat({some, ignored}, 2);
  const double expected = ops::nnunet_loss(some, labels({2, 1, 0, 1}, {1, 4})).item<double>();
  const double found =
      ops::nnunet_loss(extended, labels({2, 1, 0, 1, -100}, {1, 5})).item<double>();
  CHECK(found == Approx(expected));
}

TEST_CASE("paper_eq8: gradients of both forms", "[ops]") {
  const Tensor target = labels({0, 1, 2, 2, 1, 1, 0, 0}, {2, 1, 2, 2});
  const bool bce = GENERATE(false, true);
  CAPTURE(bce);
  check_gradients([&](const auto& t) { return ops::paper_eq8(t[0], target, {.bce = bce}); },
                  {random_tensor({2, 3, 1, 2, 2}, 1)});
}

TEST_CASE("paper_eq8: ignored places change nothing", "[ops]") {
  const bool bce = GENERATE(false, true);
  const Tensor some = random_tensor({1, 3, 4}, 1);
  const Tensor extended =
      ops::concat({some, Tensor::from<double>({0, 7, 14}, {1, 3, 1}, cpu())}, 2);
  const double expected =
      ops::paper_eq8(some, labels({2, 1, 0, 1}, {1, 4}), {.bce = bce}).item<double>();
  const double found =
      ops::paper_eq8(extended, labels({2, 1, 0, 1, -100}, {1, 5}), {.bce = bce}).item<double>();
  CHECK(found == Approx(expected));
  check_gradients(
      [&](const auto& t) {
        return ops::paper_eq8(t[0], labels({0, 1, 2, 2, -100, 1}, {2, 1, 3}), {.bce = bce});
      },
      {random_tensor({2, 3, 1, 3}, 1)});
}

TEST_CASE("volume losses: labels out of range are refused where the host sees them",
          "[ops][host]") {
  const Tensor logits = random_tensor({1, 3, 2}, 1);
  CHECK_THROWS_AS(ops::nnunet_loss(logits, labels({0, 3}, {1, 2})), ShapeError);
  CHECK_THROWS_AS(ops::paper_eq8(logits, labels({0, -1}, {1, 2})), ShapeError);
}

TEST_CASE("volume losses: one class is refused", "[ops]") {
  CHECK_THROWS_WITH(ops::nnunet_loss(random_tensor({1, 1, 2}, 1), labels({0, 0}, {1, 2})),
                    Catch::Contains("more than one class"));
}

TEST_CASE("nearest_labels: the label under the centre of each place", "[ops]") {
  const Tensor line = labels({0, 1, 2, 3, 4, 5, 6}, {1, 7});
  const auto at = [&](std::int64_t size) {
    const auto values = ops::nearest_labels(line, {size}).host_values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  CHECK(at(3) == std::vector<std::int64_t>{1, 3, 5});
  CHECK(at(7) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6});
  const Tensor volume = labels({0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 2, 2});
  CHECK(ops::nearest_labels(volume, {1, 1, 1}).item<std::int64_t>() == 7);
  CHECK_THROWS_WITH(ops::nearest_labels(volume, {1, 1}), Catch::Contains("expected (b, 2 axes)"));
}
