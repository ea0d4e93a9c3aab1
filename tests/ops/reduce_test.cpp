#include "ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("reductions: gradients over any axes", "[ops]") {
  const auto axes = GENERATE(
      values<std::vector<int>>({{}, {0}, {1}, {-1}, {0, 2}, {1, 2}, {0, 1, 2, 3}, {1, 3}}));
  const bool keepdim = GENERATE(false, true);
  const Tensor x = random_tensor({2, 3, 1, 5}, 11);
  check_gradients([&](const auto& t) { return ops::sum(t[0], axes, keepdim); }, {x});
  check_gradients([&](const auto& t) { return ops::mean(t[0], axes, keepdim); }, {x});
  check_gradients([&](const auto& t) { return ops::max(t[0], axes, keepdim); }, {x});
  check_gradients([&](const auto& t) { return ops::min(t[0], axes, keepdim); }, {x});
}

TEST_CASE("reductions: values equal explicit loops for long and odd axes", "[ops]") {
  const auto shape =
      GENERATE(values<Shape>({Shape{3, 1500, 7}, Shape{2, 5, 2049}, Shape{1, 40000, 1}}));
  const Tensor x = random_tensor(shape, 3);
  const auto values = to_doubles(x);
  const auto sums = to_doubles(ops::sum(x, {1}));
  const auto tops = to_doubles(ops::max(x, {1}));
  for (std::int64_t o = 0; o < shape[0]; ++o) {
    for (std::int64_t i = 0; i < shape[2]; ++i) {
      double sum = 0;
      double top = -std::numeric_limits<double>::infinity();
      for (std::int64_t r = 0; r < shape[1]; ++r) {
        const double value = values[static_cast<std::size_t>((o * shape[1] + r) * shape[2] + i)];
        sum += value;
        top = std::max(top, value);
      }
      const auto at = static_cast<std::size_t>(o * shape[2] + i);
      CHECK(sums[at] == Approx(sum).epsilon(1e-11).margin(1e-9));
      CHECK(tops[at] == top);
    }
  }
}

TEST_CASE("max and min: of any length, and a NaN anywhere wins", "[ops]") {
  const std::int64_t n = GENERATE(1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 700);
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64, DType::kBFloat16);
  const std::int64_t inner = GENERATE(1, 3, 18);  // other columns, all the same
  CAPTURE(n, name_of(dtype), inner);
  const Tensor column = ops::cast(random_tensor({n, 1}, 3), dtype);
  const Tensor x = ops::expand(column, {n, inner});
  const std::vector<int> axis = {0};
  const std::vector<double> values = to_doubles(x);
  CHECK(to_doubles(ops::max(x, axis))[0] == *std::max_element(values.begin(), values.end()));
  CHECK(to_doubles(ops::min(x, axis))[0] == *std::min_element(values.begin(), values.end()));
  const std::int64_t step = n > 70 ? 37 : 1;
  for (std::int64_t at = 0; at < n; at += step) {
    std::vector<double> spoilt = values;
    spoilt[static_cast<std::size_t>(at * inner)] = std::numeric_limits<double>::quiet_NaN();
    const Tensor y = ops::cast(Tensor::from(spoilt, x.shape(), cpu()), dtype);
    CHECK(std::isnan(to_doubles(ops::max(y, axis))[0]));
    CHECK(std::isnan(to_doubles(ops::min(y, axis))[0]));
  }
  const double never = -std::numeric_limits<double>::infinity();
  const Tensor lowest = ops::full({2, n}, never, dtype, cpu());
  CHECK(to_doubles(ops::max(lowest, {1})) == std::vector<double>(2, never));
  CHECK(to_doubles(ops::min(ops::neg(lowest), {1})) == std::vector<double>(2, -never));
}

TEST_CASE("max: equal maxima share the gradient; argmax takes the first", "[ops]") {
  const Tensor x = trainable(Tensor::from<double>({3, 1, 3}, {1, 3}, cpu()));
  autograd::backward(ops::max(x, {1}));
  CHECK(to_doubles(x.grad()) == std::vector<double>{0.5, 0, 0.5});
  CHECK(ops::argmax(x).item<std::int64_t>() == 0);
  CHECK(ops::argmin(x).item<std::int64_t>() == 1);
}

TEST_CASE("softmax: rows sum to one, ignore a constant shift, survive large values", "[ops]") {
  const auto n = GENERATE(1, 2, 17, 65, 130);
  const Tensor x = random_tensor({3, 4, n}, 5);
  const Tensor y = ops::softmax(x);
  for (const double total : to_doubles(ops::sum(y, {-1})))
    CHECK(total == Approx(1.0).epsilon(1e-12));
  CHECK(max_difference(y, ops::softmax(ops::add(x, 1000.0))) < 1e-12);
  CHECK(max_difference(ops::log(y), ops::log_softmax(x)) < 1e-11);
}

TEST_CASE("softmax: masked and causal rows, and rows with nothing allowed", "[ops]") {
  const Tensor x = random_tensor({2, 3, 4}, 6);
  const Tensor mask = Tensor::from<std::uint8_t>({1, 0, 1, 0, 0, 0, 0, 0}, {2, 4}, cpu());
  const auto y = to_doubles(ops::softmax(x, mask));
  for (std::size_t r = 0; r < 3; ++r) {
    CHECK(y[r * 4 + 1] == 0.0);
    CHECK(y[r * 4] + y[r * 4 + 2] == Approx(1.0));
  }
  for (std::size_t i = 12; i < 24; ++i) CHECK(y[i] == 0.0);
  const auto causal = to_doubles(ops::softmax(random_tensor({1, 3, 3}, 7), {}, true));
  CHECK(causal[0] == 1.0);
  CHECK(causal[1] == 0.0);
  CHECK(causal[5] == 0.0);
  CHECK(causal[3] + causal[4] == Approx(1.0));
}

TEST_CASE("softmax: gradients, plain, masked, causal and logarithmic", "[ops]") {
  const Tensor mask = Tensor::from<std::uint8_t>({1, 0, 1, 1, 0, 0, 0, 0, 0, 1}, {2, 5}, cpu());
  check_gradients([](const auto& t) { return ops::softmax(t[0]); }, {random_tensor({2, 3, 5}, 8)});
  check_gradients([&](const auto& t) { return ops::softmax(t[0], mask); },
                  {random_tensor({2, 3, 5}, 9)});
  check_gradients([](const auto& t) { return ops::softmax(t[0], {}, true); },
                  {random_tensor({2, 4, 6}, 10)});
  check_gradients([](const auto& t) { return ops::log_softmax(t[0]); },
                  {random_tensor({4, 7}, 11)});
  check_gradients([](const auto& t) { return ops::softmax(t[0]); }, {random_tensor({2, 1}, 8)});
}
