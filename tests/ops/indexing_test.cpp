#include "ops/indexing.h"

#include "ops/elementwise.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

Tensor indices(const std::vector<std::int64_t>& values, const Shape& shape) {
  return Tensor::from(values, shape, cpu());
}

}  // namespace

TEST_CASE("embedding: rows and gradients, repeated indices add up", "[ops]") {
  const Tensor index = indices({1, 3, 1, 0, 3, 3}, {2, 3});
  check_gradients([&](const auto& t) { return ops::embedding(t[0], index); },
                  {random_tensor({5, 3}, 1)});
  // Twice in one graph, below another operation.
  check_gradients(
      [&](const auto& t) {
        const Tensor table = ops::square(t[0]);
        return ops::add(ops::embedding(table, index), ops::embedding(t[0], index));
      },
      {random_tensor({4, 1}, 2)});
  const Tensor table = ramp({4, 2}, 3, 7);
  check_values(ops::embedding(table, indices({2, 0}, {2})), {0.5, -0.5, -0.75, 0});
  CHECK(ops::embedding(table, indices({}, {0, 3})).shape() == Shape{0, 3, 2});
}

TEST_CASE("embedding: the padding row has no gradient", "[ops]") {
  const Tensor table = trainable(random_tensor({3, 2}, 1));
  const Tensor index = indices({2, 0, 2, 1}, {4});
  backward_ramp(ops::embedding(table, index, 2));
  const auto gradient = to_doubles(table.grad());
  CHECK(gradient[4] == 0.0);
  CHECK(gradient[5] == 0.0);
  CHECK(gradient[0] != 0.0);
  CHECK(gradient[2] != 0.0);
  // What another operation added to that row stays.
  table.set_grad({});
  const Tensor sum = ops::add(ops::embedding(table, index, 2), ops::embedding(table, index));
  backward_ramp(sum);
  const Tensor other = trainable(random_tensor({3, 2}, 1));
  backward_ramp(ops::embedding(other, index));
  CHECK(to_doubles(table.grad())[4] == to_doubles(other.grad())[4]);
  CHECK(to_doubles(table.grad())[0] == Approx(2 * to_doubles(other.grad())[0]));
}

TEST_CASE("gather: values and gradients along every axis", "[ops]") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  check_gradients(
      [&](const auto& t) {
        return ops::gather(t[0], 0, indices({1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1}, {1, 3, 4}));
      },
      {x});
  check_gradients(
      [&](const auto& t) {
        return ops::gather(t[0], 1, indices({2, 0, 1, 1, 2, 2, 2, 0}, {2, 1, 4}));
      },
      {x});
  const Tensor last = indices({3, 3, 0, 1, 2, 1, 1, 1, 3, 0, 2, 2}, {2, 3, 2});
  check_gradients([&](const auto& t) { return ops::gather(t[0], -1, last); }, {x});
  check_values(ops::gather(ramp({2, 3}, 1, 7), 1, indices({2, 2, 0, 1}, {2, 2})),
               {-0.25, -0.25, 0, 0.25});
  // Integer tensors can be looked up too.
  const Tensor y = ops::gather(indices({10, 20, 30}, {3}), 0, indices({2, 0}, {2}));
  CHECK(y.host_values<std::int64_t>()[0] == 30);
  CHECK(y.host_values<std::int64_t>()[1] == 10);
}

TEST_CASE("scatter_add: values and gradients along every axis", "[ops]") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const auto check = [&](int axis, const Tensor& index) {
    check_gradients([&](const auto& t) { return ops::scatter_add(t[0], axis, index, t[1]); },
                    {x, random_tensor(index.shape(), 2)});
  };
  check(0, indices({1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1}, {1, 3, 4}));
  check(1, indices({2, 0, 1, 1, 2, 2, 2, 0}, {2, 1, 4}));
  check(2, indices({3, 3, 0, 1, 2, 1, 1, 1, 3, 0, 2, 2}, {2, 3, 2}));
  const Tensor sum = ops::scatter_add(ramp({3}, 1, 7), 0, indices({1, 1, 2, 1}, {4}),
                                      Tensor::from<double>({1, 10, 100, 1000}, {4}, cpu()));
  check_values(sum, {-0.75, 1010.5, 99.75});
}

TEST_CASE("lookups: same bits for any number of threads", "[ops][host]") {
  std::vector<std::int64_t> values;
  for (std::uint64_t i = 0; i < 4000; ++i) values.push_back(RandomStream(3).below(50, i));
  const Shape shape{4000};
  check_threads(
      [&](const auto& t) {
        return ops::embedding(t[0], Tensor::from(values, shape, t[0].device()));
      },
      {{50, 70}});
  check_threads(
      [&](const auto& t) {
        return ops::gather(t[0], 1, Tensor::from(values, {40, 20, 5}, t[0].device()));
      },
      {{40, 50, 5}});
}

TEST_CASE("lookups: indices out of range are refused where the host sees them", "[ops][host]") {
  const Tensor table = random_tensor({4, 2}, 1);
  CHECK_THROWS_WITH(ops::embedding(table, indices({0, 4}, {2})),
                    Catch::Contains("embedding: index 4 is outside [0, 4)"));
  CHECK_THROWS_AS(ops::embedding(table, indices({-1}, {1})), ShapeError);
  CHECK_THROWS_AS(ops::gather(table, 1, indices({0, 2, 0, 0}, {4, 1})), ShapeError);
}

TEST_CASE("lookups: wrong shapes are refused", "[ops]") {
  const Tensor table = random_tensor({4, 2}, 1);
  CHECK_THROWS_WITH(ops::embedding(table, random_tensor({2}, 1)),
                    Catch::Contains("index is float64; expected int64"));
  CHECK_THROWS_AS(ops::embedding(table, indices({0}, {1}), 4), ShapeError);
  CHECK_THROWS_WITH(ops::gather(table, 1, indices({0, 0}, {2, 1})),
                    Catch::Contains("gather: x is (4, 2), index is (2, 1); expected equal sizes "
                                    "except on axis 1"));
  CHECK_THROWS_AS(ops::gather(table, 2, indices({0}, {1, 1})), ShapeError);
  CHECK_THROWS_AS(ops::scatter_add(table, 0, indices({0, 0}, {1, 2}), random_tensor({2, 2}, 1)),
                  ShapeError);
}
