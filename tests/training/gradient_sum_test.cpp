// Gradients of several micro-batches: each made alone, then added from left to right.
#include "training/gradient_sum.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <vector>

#include "autograd/graph.h"
#include "backend/devices.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tensor/random.h"

using namespace fovea;

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
  training::GradientSum sum(parameters, ranks);
  std::vector<float> expected, in_place;
  const Tensor other = leaf();
  for (std::uint64_t k = 0; k < 3; ++k) {
    walk_back(parameter, k);
    const std::vector<float> alone = values_of(parameter.grad());
    sum.add();
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
