// A batch norm of which threads in place of processes hold a part each: that of the whole batch.
#include <catch2/catch.hpp>

#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#include "autograd/graph.h"
#include "base/error.h"
#include "ops/batch_statistics.h"
#include "ops/create.h"
#include "ops/norm.h"
#include "ops/running_value.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct Result {
  Tensor y, x, weight, bias, residual, mean, variance;  // the first is the output, then gradients
};

struct Input {
  Tensor x, residual, dy;
};

Result normalise(const Input& input, bool relu, const Tensor& weights, const Tensor& biases) {
  Result result;
  result.mean = random_tensor({3}, 7);
  result.variance = uniform_tensor({3}, 0.5, 2, 8);
  const Tensor x = trainable(ops::clone(input.x));
  const Tensor weight = trainable(ops::clone(weights)), bias = trainable(ops::clone(biases));
  const Tensor residual =
      input.residual.defined() ? trainable(ops::clone(input.residual)) : Tensor();
  result.y = ops::batch_norm({weight, bias, result.mean, result.variance, true, 0.1, 1e-3}, x,
                             residual, relu);
  autograd::backward(result.y, input.dy);
  result.x = x.grad();
  result.weight = weight.grad();
  result.bias = bias.grad();
  if (residual.defined()) result.residual = residual.grad();
  return result;
}

void check_rows(const Tensor& whole, const std::vector<Tensor>& parts) {
  if (!whole.defined()) return;
  std::vector<double> rows;
  for (const Tensor& part : parts) {
    const std::vector<double> values = to_doubles(part);
    rows.insert(rows.end(), values.begin(), values.end());
  }
  const std::vector<double> expected = to_doubles(whole);
  REQUIRE(rows.size() == expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(rows[i] == Approx(expected[i]).epsilon(1e-9).margin(1e-11));
}

void check_sums(const Tensor& whole, const std::vector<Tensor>& parts) {
  const std::vector<double> expected = to_doubles(whole);
  for (std::size_t c = 0; c < expected.size(); ++c) {
    double sum = 0;
    for (const Tensor& part : parts) sum += to_doubles(part)[c];
    CHECK(sum == Approx(expected[c]).epsilon(1e-9).margin(1e-11));
  }
}

}  // namespace

TEST_CASE("batch_norm: parts of a shared batch give what the whole gives", "[ops]") {
  const bool residual = GENERATE(false, true), relu = GENERATE(false, true);
  // Parts differ in size and in their means; the last one is empty.
  const std::vector<std::int64_t> begins{0, 4, 6, 6};
  Input whole{random_tensor({6, 3, 2, 5}, 1), residual ? random_tensor({6, 3, 2, 5}, 2) : Tensor(),
              random_tensor({6, 3, 2, 5}, 3)};
  edit<double>(whole.x, [](auto values) {
    for (std::size_t i = 0; i < values.size() / 2; ++i) values[i] = 3 * values[i] + 5;
  });
  const Tensor weight = random_tensor({3}, 4), bias = random_tensor({3}, 5);
  const Result expected = normalise(whole, relu, weight, bias);
  const std::size_t count = begins.size() - 1;
  std::vector<Result> results(count);
  std::vector<std::vector<double>> given(count);
  std::barrier all(static_cast<std::ptrdiff_t>(count));
  {
    std::vector<std::jthread> threads;
    for (std::size_t part = 0; part < count; ++part) {
      threads.emplace_back([&, part] {
        const auto rows = [&](const Tensor& x) {
          return x.defined() ? x.rows(begins[part], begins[part + 1]) : Tensor();
        };
        const ops::SharedBatch batch{[&](const std::vector<double>& own) {
                                       given[part] = own;
                                       all.arrive_and_wait();
                                       auto copy = given;
                                       all.arrive_and_wait();
                                       return copy;
                                     },
                                     part == 0};
        const ops::ShareStatistics sharing(batch);
        results[part] =
            normalise({rows(whole.x), rows(whole.residual), rows(whole.dy)}, relu, weight, bias);
      });
    }
  }
  const auto of = [&](Tensor Result::*member) {
    std::vector<Tensor> list;
    for (const Result& result : results) list.push_back(result.*member);
    return list;
  };
  check_rows(expected.y, of(&Result::y));
  check_rows(expected.x, of(&Result::x));
  check_rows(expected.residual, of(&Result::residual));
  check_sums(expected.weight, of(&Result::weight));
  check_sums(expected.bias, of(&Result::bias));
  // One of them moves the running statistics.
  CHECK(max_difference(results[0].mean, expected.mean) < 1e-12);
  CHECK(max_difference(results[0].variance, expected.variance) < 1e-11);
  CHECK(max_difference(results[1].mean, random_tensor({3}, 7)) == 0);
}

TEST_CASE("batch_norm: inside a running value it is of one process", "[ops]") {
  const ops::SharedBatch batch{
      [](const std::vector<double>& own) { return std::vector<std::vector<double>>{own}; }};
  const ops::ShareStatistics sharing(batch);
  const Tensor x = random_tensor({2, 3, 4, 4}, 1), planes = random_tensor({2, 3}, 2);
  CHECK_THROWS_AS(ops::running_value({{}, {}, {}, {}, true}, {}, {}, planes, x,
                                     random_tensor({3, 1, 3, 3}, 3), planes),
                  ConfigError);
}
