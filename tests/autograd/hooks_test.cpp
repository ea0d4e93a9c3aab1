// Looks into a graph that change nothing, and factors that change gradients alone.
#include "autograd/hooks.h"

#include <catch2/catch.hpp>

#include "autograd/graph.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tensor/host.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

Tensor leaf(const std::vector<double>& values) {
  const Tensor x = Tensor::from(values, {std::ssize(values)}, cpu());
  x.set_requires_grad(true);
  return x;
}

}  // namespace

TEST_CASE("observed: sees the whole gradient of a value that is used twice", "[autograd]") {
  const Tensor x = leaf({2, 3});
  int calls = 0;
  Tensor seen;
  const Tensor y = autograd::observed(ops::square(x), [&](const Tensor& gradient) {
    ++calls;
    seen = gradient;
  });
  autograd::backward(ops::sum(ops::add(ops::mul(y, 3), y)));
  CHECK(calls == 1);
  CHECK(host_doubles(seen) == std::vector<double>{4, 4});
  CHECK(host_doubles(x.grad()) == std::vector<double>{16, 24});
}

TEST_CASE("observed: nothing is recorded where nothing needs a gradient", "[autograd]") {
  const Tensor x = Tensor::from(std::vector<double>{1}, {1}, cpu());
  CHECK(!autograd::observed(x, [](const Tensor&) {}).node());
  const autograd::NoGrad no_grad;
  CHECK(!autograd::observed(leaf({1}), [](const Tensor&) {}).node());
}

TEST_CASE("with_scaled_gradient: values stay, gradients get the factor", "[autograd]") {
  const Tensor x = leaf({2, 3});
  const Tensor half = autograd::with_scaled_gradient(x, 0.5);
  CHECK(host_doubles(half) == std::vector<double>{2, 3});
  autograd::backward(ops::sum(ops::mul(half, x)));  // d (x x) with half of one factor
  CHECK(host_doubles(x.grad()) == std::vector<double>{3, 4.5});
  CHECK(!autograd::with_scaled_gradient(x, 0).requires_grad());
  CHECK(autograd::with_scaled_gradient(x, 1).id() == x.id());
}
