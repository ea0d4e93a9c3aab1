#include "ops/activation.h"

#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("linear of an activation: gradients", "[ops]") {
  const auto f = GENERATE(values<ops::Activation>({{UnaryOp::kGelu, false, false},
                                                   {UnaryOp::kRelu, false, false},
                                                   {UnaryOp::kGeluTanh, false, false},
                                                   {UnaryOp::kQuickGelu, false, false},
                                                   {UnaryOp::kSilu, false, false},
                                                   {UnaryOp::kSilu, true, false},
                                                   {UnaryOp::kGelu, true, true}}));
  const std::int64_t hidden = f.gated ? 3 : 6;
  const std::vector<Tensor> inputs = {random_tensor({2, 5, 6}, 1), random_tensor({4, hidden}, 2),
                                      random_tensor({4}, 3)};
  check_gradients([&](const auto& t) { return ops::linear(ops::activate(f, t[0]), t[1], t[2]); },
                  inputs);
}

TEST_CASE("linear of an activation or a norm: keeps nothing but its result", "[ops][host]") {
  const Device device = make_cpu(1);
  const Tensor weight = trainable(Tensor::from(std::vector<float>(64, 0.5F), {1, 64}, device));
  const Tensor x = trainable(Tensor::from(std::vector<float>(64 * 512, 1.0F), {512, 64}, device));
  const auto made = GENERATE(values<Tensor (*)(const Tensor&)>(
      {[](const Tensor& t) { return ops::activate({}, t); },
       [](const Tensor& t) { return ops::layer_norm(t, {}, {}, 1e-5); },
       [](const Tensor& t) { return ops::rms_norm(t, {}, 1e-5); }}));
  const std::int64_t before = device.allocator().stats().bytes_in_use;
  const Tensor y = ops::linear(made(x), weight);
  // Besides the result statistics of the rows, two numbers each.
  CHECK(device.allocator().stats().bytes_in_use - before <= 3 * y.bytes());
}

TEST_CASE("linears of one norm: each gets its gradients from what is made again once", "[ops]") {
  const auto dtype = GENERATE(DType::kFloat64, DType::kFloat32);
  const auto run = [&](bool keep) {
    const Tensor x = trainable(random_tensor({3, 6}, 1, dtype));
    const Tensor w = trainable(random_tensor({6}, 2, dtype));
    const Tensor w1 = trainable(random_tensor({4, 6}, 3, dtype));
    const Tensor w2 = trainable(random_tensor({4, 6}, 4, dtype));
    Tensor y = ops::rms_norm(x, w, 1e-5);
    if (keep) y = ops::add(y, 0.0);  // a result without a recipe
    autograd::backward(ops::sum(ops::mul(ops::linear(y, w1), ops::linear(y, w2))));
    std::vector<double> all;
    for (const Tensor& t : {x, w, w1, w2}) {
      const auto values = to_doubles(t.grad());
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  CHECK(run(false) == run(true));
}

TEST_CASE("activation: the gradient is written over the one that came in, if nobody holds it",
          "[ops][host]") {
  const Device device = make_cpu(1);
  const auto kind = GENERATE(UnaryOp::kRelu, UnaryOp::kGelu);
  const Tensor x = trainable(Tensor::from(std::vector<float>(4096, 1.0F), {4096}, device));
  const Tensor dy = Tensor::from(std::vector<float>(4096, 2.0F), {4096}, device);
  const Tensor y = ops::activate({.kind = kind}, ops::mul(x, 1.5));
  autograd::backward(y, dy);
  CHECK(to_doubles(dy) == std::vector<double>(4096, 2.0));
  CHECK_FALSE(x.grad().same_storage(dy));
  const Tensor expected = x.grad();
  x.set_grad({});
  // The product makes a gradient of its own, which the activation takes over.
  const Tensor z = ops::mul(ops::activate({.kind = kind}, ops::mul(x, 1.5)), 2.0);
  const std::int64_t before = device.allocator().stats().bytes_in_use;
  device.allocator().reset_peak();
  autograd::backward(z, Tensor::from(std::vector<float>(4096, 1.0F), {4096}, device));
  CHECK(max_difference(x.grad(), expected) == 0);
  CHECK(device.allocator().stats().peak_bytes - before <= 2 * z.bytes());
}

TEST_CASE("activation: a gated one refuses an odd last axis", "[ops]") {
  const ops::Activation swiglu{UnaryOp::kSilu, true, false};
  CHECK_THROWS_WITH(ops::activate(swiglu, random_tensor({2, 5}, 1)),
                    Catch::Contains("swiglu: x is (2, 5); expected an even last axis"));
}
