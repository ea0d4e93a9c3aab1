#include "ops/activation.h"

#include "ops/linear.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("linear of an activation: equals the two in turn, and gradients", "[ops]") {
  const auto f = GENERATE(values<ops::Activation>({{UnaryOp::kGelu, false, false},
                                                   {UnaryOp::kGeluTanh, false, false},
                                                   {UnaryOp::kSilu, false, false},
                                                   {UnaryOp::kSilu, true, false},
                                                   {UnaryOp::kGelu, true, true}}));
  const std::int64_t hidden = f.gated ? 3 : 6;
  const std::vector<Tensor> inputs = {random_tensor({2, 5, 6}, 1), random_tensor({4, hidden}, 2),
                                      random_tensor({4}, 3)};
  const auto fused = [&](const auto& t) { return ops::linear(f, t[0], t[1], t[2]); };
  const Tensor composed = ops::linear(ops::activate(f, inputs[0]), inputs[1], inputs[2]);
  CHECK(max_difference(fused(inputs), composed) == 0);
  check_gradients(fused, inputs);
}

TEST_CASE("linear of an activation: keeps nothing but its result", "[ops]") {
  const Device device = make_cpu(1);
  const Tensor weight = trainable(Tensor::from(std::vector<float>(64, 0.5F), {1, 64}, device));
  const Tensor x = trainable(Tensor::from(std::vector<float>(64 * 512, 1.0F), {512, 64}, device));
  const std::int64_t before = device.allocator().stats().bytes_in_use;
  const Tensor y = ops::linear(ops::Activation{}, x, weight);
  CHECK(device.allocator().stats().bytes_in_use - before <= y.bytes());
}

TEST_CASE("activation: a gated one refuses an odd last axis", "[ops]") {
  const ops::Activation swiglu{UnaryOp::kSilu, true, false};
  CHECK_THROWS_WITH(ops::activate(swiglu, random_tensor({2, 5}, 1)),
                    Catch::Contains("swiglu: x is (2, 5); expected an even last axis"));
}
