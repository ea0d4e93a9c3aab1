// Gradients of several micro-batches: each made alone, then added from left to right.
#include "training/gradient_sum.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdint>
#include <vector>

#include "autograd/graph.h"
#include "backend/devices.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tensor/random.h"
#include "tests/parallel/threads.h"

using namespace fovea;

using parallel::Ranks;
using training::GradientOrder;
using training::GradientSum;

namespace {

std::vector<float> numbers(std::uint64_t seed) {
  const RandomStream random(seed);
  std::vector<float> values;
  for (std::uint64_t i = 0; i < 257; ++i) values.push_back(static_cast<float>(random.normal(i)));
  return values;
}

// A network that uses its parameter twice.
void walk_back(const Tensor& parameter, std::uint64_t micro_batch) {
  const Device& device = parameter.device();
  const Tensor a = Tensor::from(numbers(10 * micro_batch + 1), parameter.shape(), device);
  const Tensor b = Tensor::from(numbers(10 * micro_batch + 2), parameter.shape(), device);
  autograd::backward(
      ops::sum(ops::add(ops::mul(parameter, a), ops::mul(ops::mul(parameter, b), parameter))));
}

std::vector<float> values_of(const Tensor& x) {
  const auto values = x.host_values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("gradient sum: micro-batches are added from left to right", "[training]") {
  const Device device = make_cpu(1);
  const auto leaf = [&] {
    Tensor x = Tensor::from(numbers(3), {257}, device);
    x.set_requires_grad(true);
    return x;
  };
  const Tensor parameter = leaf(), unused = leaf();
  const std::vector<optim::Parameter> parameters{{"weight", parameter}, {"unused", unused}};
  parallel::Ranks ranks;
  GradientSum sum(parameters, ranks, {});
  std::vector<float> expected, in_place;
  const Tensor other = leaf();
  for (std::uint64_t k = 0; k < 3; ++k) {
    std::vector<float> alone;
    sum.add({true}, k == 2, [&] {
      walk_back(parameter, k);
      alone = values_of(parameter.grad());
    });
    CHECK_FALSE(parameter.grad().defined());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      if (k == 0) expected.push_back(alone[i]);
      if (k > 0) expected[i] += alone[i];
    }
    walk_back(other, k);
  }
  sum.finish();
  CHECK(values_of(parameter.grad()) == expected);
  CHECK_FALSE(unused.grad().defined());
  // Adding every use to what is there already has other last bits.
  CHECK(values_of(other.grad()) != expected);
}

namespace {

// A network of three layers, of which the middle one is in some micro-batches only, and another
// inside a checkpoint that is used before and after it.
struct Chain {
  std::vector<optim::Parameter> parameters;
  explicit Chain(const Device& device) {
    for (const char* name : {"first", "middle", "twice", "last"}) {
      Tensor x = Tensor::from(numbers(parameters.size()), {257}, device);
      x.set_requires_grad(true);
      parameters.push_back({name, x});
    }
  }
  void walk_back(std::uint64_t micro_batch) const {
    const Tensor& twice = parameters[2].tensor;
    const Tensor x = Tensor::from(numbers(100 + micro_batch), {257}, twice.device());
    Tensor y = ops::mul(ops::mul(x, parameters[0].tensor), twice);
    if (micro_batch % 2 == 1) y = ops::mul(y, parameters[1].tensor);
    y = autograd::checkpoint(
        [&](const std::vector<Tensor>& in) { return ops::mul(ops::add(in[0], twice), twice); },
        {y});
    autograd::backward(ops::sum(ops::mul(y, parameters[3].tensor)));
  }
};

using Gradients = std::vector<std::vector<float>>;

// Of two steps of so many micro-batches, of which one could not be read.
Gradients steps_of(Ranks& ranks, const GradientSum::Settings& settings,
                   std::int64_t micro_batches) {
  const Chain chain(make_cpu(1));
  GradientSum sum(chain.parameters, ranks, settings);
  Gradients all;
  for (std::int64_t step = 0; step < 2; ++step) {
    for (std::int64_t round = 0; round < micro_batches; round += ranks.size()) {
      std::vector<bool> adds;
      for (std::int64_t k = round; k < round + ranks.size(); ++k)
        adds.push_back(k < micro_batches && k != 2);
      sum.add(adds, round + ranks.size() >= micro_batches, [&] {
        chain.walk_back(static_cast<std::uint64_t>(10 * step + round + ranks.rank()));
      });
    }
    sum.finish();
    for (const optim::Parameter& parameter : chain.parameters) {
      const Tensor& gradient = parameter.tensor.grad();
      all.push_back(gradient.defined() ? values_of(gradient) : std::vector<float>());
      parameter.tensor.set_grad({});
    }
  }
  return all;
}

int same_on_ranks(int size, const GradientSum::Settings& settings, std::int64_t micro_batches,
                  const Gradients& expected) {
  std::atomic<int> same = 0;
  test::run_ranks(size, [&](Ranks& ranks) {
    if (steps_of(ranks, settings, micro_batches) == expected) ++same;
  });
  return same;
}

}  // namespace

TEST_CASE("gradient sum: any number of ranks gives the bits of one", "[training]") {
  Ranks alone;
  const auto sent = GENERATE(parallel::Sent::kFloat32, parallel::Sent::kBFloat16);
  const GradientSum::Settings settings{GradientOrder::kMicroBatches, sent};
  const Gradients expected = steps_of(alone, settings, 7);
  for (const int size : {2, 3, 4}) CHECK(same_on_ranks(size, settings, 7, expected) == size);
  // No micro-batch of the step reaches the middle one.
  CHECK(steps_of(alone, settings, 1)[1].empty());
}

TEST_CASE("gradient sum: ranks that add their own first", "[training]") {
  Ranks alone;
  const GradientSum::Settings exact{}, fast{GradientOrder::kRanks, parallel::Sent::kFloat32};
  const Gradients expected = steps_of(alone, exact, 4);
  CHECK(steps_of(alone, fast, 4) == expected);
  CHECK(same_on_ranks(4, fast, 4, expected) == 4);  // one each
  CHECK(same_on_ranks(2, fast, 4, expected) == 0);  // (g0 + 0) + (g1 + g3): in other last bits
  std::atomic<int> close = 0;
  test::run_ranks(2, [&](Ranks& ranks) {
    const Gradients got = steps_of(ranks, fast, 4);
    bool good = true;
    for (std::size_t i = 0; i < got.size(); ++i) {
      for (std::size_t k = 0; k < got[i].size(); ++k)
        good = good && got[i][k] == Approx(expected[i][k]).epsilon(1e-4).margin(1e-4);
    }
    if (good) ++close;
  });
  CHECK(close == 2);
}
