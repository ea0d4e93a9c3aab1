#include "ops/shape.h"

#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("permute: equals index arithmetic, inverse restores, gradient", "[ops]") {
  const Tensor x = random_tensor({3, 40, 50}, 1);
  const Tensor y = ops::permute(x, {2, 0, 1});
  CHECK(y.shape() == Shape{50, 3, 40});
  const auto from = x.host_values<double>();
  const auto to = y.host_values<double>();
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 40; ++j) {
      for (std::size_t k = 0; k < 50; ++k) {
        REQUIRE(to[(k * 3 + i) * 40 + j] == from[(i * 40 + j) * 50 + k]);
      }
    }
  }
  CHECK(max_difference(ops::permute(y, {1, 2, 0}), x) == 0.0);
  check_gradients(
      [](const auto& t) {
        return ops::permute(t[0], {2, 3, 0, 1});
      },
      {random_tensor({2, 3, 1, 4}, 2)});
  check_gradients([](const auto& t) { return ops::transpose(t[0], -1, 0); },
                  {random_tensor({2, 3, 4}, 2)});
  CHECK_THROWS_AS(ops::permute(x, {0, 0, 1}), ShapeError);
}

TEST_CASE("transpose of a large matrix is exact", "[ops]") {
  const Tensor x = random_tensor({700, 333}, 1, DType::kFloat32);
  const Tensor y = ops::transpose(x, 0, 1);
  const auto from = x.host_values<float>();
  const auto to = y.host_values<float>();
  for (std::size_t i = 0; i < 700; i += 3) {
    for (std::size_t j = 0; j < 333; ++j) REQUIRE(to[j * 700 + i] == from[i * 333 + j]);
  }
}

TEST_CASE("reshape shares memory and infers one size", "[ops]") {
  const Tensor x = random_tensor({4, 6}, 1);
  const Tensor y = ops::reshape(x, {2, -1, 3});
  CHECK(y.shape() == Shape{2, 4, 3});
  CHECK(y.same_storage(x));
  check_gradients(
      [](const auto& t) {
        return ops::reshape(t[0], {3, -1});
      },
      {random_tensor({2, 3}, 1)});
  CHECK_THROWS_AS(ops::reshape(x, {5, -1}), ShapeError);
}

TEST_CASE("expand: gradient sums over the repeats", "[ops]") {
  check_gradients(
      [](const auto& t) {
        return ops::expand(t[0], {2, 4, 3, 5});
      },
      {random_tensor({4, 1, 5}, 1)});
  CHECK_THROWS_AS(ops::expand(random_tensor({2}, 1), {3}), ShapeError);
}

TEST_CASE("concat, slice and split: inverse of each other, gradients", "[ops]") {
  const int axis = GENERATE(0, 1, -1);
  const Tensor x = random_tensor({5, 6, 7}, 1);
  const std::int64_t size = x.size(axis);
  const auto parts = ops::split(x, axis, {2, 0, size - 2});
  CHECK(max_difference(ops::concat(parts, axis), x) == 0.0);
  check_gradients(
      [&](const auto& t) {
        return ops::concat({t[0], t[1], t[0]}, axis);
      },
      {random_tensor({2, 3, 4}, 1), random_tensor({2, 3, 4}, 2)});
  check_gradients(
      [&](const auto& t) {
        return ops::mul(ops::slice(t[0], axis, 0, 2),
                        ops::slice(t[0], axis, 1, 2));  // overlapping uses
      },
      {random_tensor({3, 3, 3}, 1)});
  CHECK_THROWS_AS(ops::slice(x, axis, 3, size), ShapeError);
  CHECK_THROWS_AS(ops::concat({x, random_tensor({5, 6}, 1)}, axis), ShapeError);
}

TEST_CASE("pad: zeros around, negative amounts crop, gradient", "[ops]") {
  const Tensor y = ops::pad(Tensor::from<double>({1, 2, 3}, {3}, cpu()), {{1, -1}}, 9.0);
  CHECK(to_doubles(y) == std::vector<double>{9, 1, 2});
  check_gradients(
      [](const auto& t) {
        return ops::pad(t[0], {{1, 2}, {0, -1}, {-1, 3}});
      },
      {random_tensor({2, 3, 4}, 1)});
}

TEST_CASE("roll: cyclic on several axes, rolling back restores, gradient", "[ops]") {
  const Tensor x = random_tensor({2, 5, 4}, 1);
  const Tensor y = ops::roll(x, {2, -3}, {1, 2});
  const auto from = x.host_values<double>();
  const auto to = y.host_values<double>();
  for (std::size_t j = 0; j < 5; ++j) {
    for (std::size_t k = 0; k < 4; ++k) {
      CHECK(to[((j + 2) % 5) * 4 + (k + 1) % 4] == from[j * 4 + k]);
    }
  }
  CHECK(max_difference(ops::roll(y, {-2, 3}, {1, 2}), x) == 0.0);
  check_gradients(
      [](const auto& t) {
        return ops::roll(t[0], {1, 7}, {0, 1});
      },
      {random_tensor({3, 4}, 1)});
}

TEST_CASE("flip: twice is identity, gradient", "[ops]") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  CHECK(max_difference(ops::flip(ops::flip(x, 1), 1), x) == 0.0);
  CHECK(ops::flip(x, -1).host_values<double>()[0] == x.host_values<double>()[3]);
  check_gradients([](const auto& t) { return ops::flip(t[0], 0); }, {random_tensor({3, 2}, 1)});
}
