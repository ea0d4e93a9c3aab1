#include "ops/scaled_sum.h"

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("scaled_sum: gradients of all operands, alone and with others", "[ops]") {
  for (const Shape& shape : {Shape{2, 3, 3, 5}, Shape{1, 1, 1, 1}, Shape{2, 4, 17}, Shape{3, 2}}) {
    CAPTURE(to_string(shape));
    const std::vector<Tensor> inputs{
        random_tensor(shape, 1), random_tensor({shape[0], shape[1]}, 2), random_tensor(shape, 3)};
    check_gradients([](const auto& t) { return ops::scaled_sum(t[0], t[1], t[2]); }, inputs);
    check_gradients([](const auto& t) { return ops::scaled_sum({}, t[1], t[2]); }, inputs);
    // x is used before and after, so that its gradient is added to one that is there.
    check_gradients(
        [](const auto& t) {
          const Tensor x = ops::mul(t[2], t[2]);
          return ops::add(ops::scaled_sum(ops::sin(x), t[1], x), ops::mul(x, 0.5));
        },
        inputs);
    check_gradients([](const auto& t) { return ops::scaled_sum(t[2], t[1], t[2]); }, inputs);
  }
}

TEST_CASE("scaled_sum: equals the composed form", "[ops]") {
  const Tensor u = random_tensor({2, 3, 4, 5}, 1, DType::kFloat32);
  const Tensor w = random_tensor({2, 3}, 2, DType::kFloat32);
  const Tensor x = random_tensor({2, 3, 4, 5}, 3, DType::kFloat32);
  const Tensor composed = ops::add_product(u, ops::reshape(w, {2, 3, 1, 1}), x);
  CHECK(max_difference(ops::scaled_sum(u, w, x), composed) < 1e-6);
}

TEST_CASE("add_product: gradients with operands that are stretched", "[ops]") {
  check_gradients(
      [](const auto& t) { return ops::add_product(t[0], t[1], t[2]); },
      {random_tensor({2, 3, 4}, 1), random_tensor({2, 3, 1}, 2), random_tensor({4}, 3)});
  CHECK_THROWS_AS(
      ops::add_product(random_tensor({3}, 1), random_tensor({2, 3}, 2), random_tensor({3}, 3)),
      ShapeError);
}

TEST_CASE("scaled_sum: operands that do not fit are refused", "[ops]") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  CHECK_THROWS_WITH(ops::scaled_sum({}, random_tensor({3}, 2), x),
                    Catch::Contains("scaled_sum: w is float64 (3); expected float64 (2, 3)"));
  CHECK_THROWS_WITH(ops::scaled_sum(random_tensor({2, 3, 5}, 2), random_tensor({2, 3}, 2), x),
                    Catch::Contains("scaled_sum: u is float64 (2, 3, 5)"));
}
