// What writes to parameters says so: a graph that still needs them notices.
#include "autograd/graph.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "optim/ema.h"
#include "tests/optim/optimisers.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("optimisers: a step between forward and backward is noticed", "[optim]") {
  const auto type = GENERATE(values<std::string>({"sgd", "adamw"}));
  const Tensor w = trainable(random_tensor({3, 4}, 1));
  const auto optimiser = make_optimiser("{\"type\": \"" + type + "\"}", {{"w", w}});
  const Tensor x = trainable(random_tensor({2, 4}, 2));
  const auto forward = [&] { return ops::sum(ops::gelu(ops::linear(x, w))); };
  const Tensor late = forward();
  autograd::backward(forward());
  optimiser->step(0.1);
  CHECK_THROWS_WITH(autograd::backward(late),
                    Catch::Contains("linear needs its input 2 of 3, float64 (3, 4), as it was; it "
                                    "was changed since by " +
                                    type));
  autograd::backward(forward());
  // Buffers of the optimiser count as well, and parameters without a gradient are left alone.
  for (const auto& [name, tensor] : optimiser->state()) {
    if (!name.ends_with(".step")) CHECK(tensor.writer() == type);
  }
  const std::uint64_t version = w.version();
  optimiser->zero_grad();
  optimiser->step(0.1);
  CHECK(w.version() == version);
}

TEST_CASE("averaged weights: swapping them in and out is noticed", "[optim]") {
  const Tensor w = trainable(random_tensor({3, 4}, 1));
  optim::Ema ema({{"w", w}}, 0.9);
  const Tensor average = ema.state().at("w");
  ema.update();
  CHECK(average.writer() == std::string("ema"));
  const Tensor y = ops::sum(ops::linear(trainable(random_tensor({2, 4}, 2)), w));
  { const optim::Ema::Applied applied(ema); }
  CHECK_THROWS_WITH(autograd::backward(y), Catch::Contains("changed since by copy_into"));
}

TEST_CASE("clipping: a graph over gradients notices", "[optim]") {
  const Tensor w = trainable(random_tensor({4}, 1));
  w.set_grad(random_tensor({4}, 2));
  const Tensor y = ops::sum(ops::mul(trainable(random_tensor({4}, 3)), w.grad()));
  optim::clip_grad_value({{"w", w}}, 1e-3);
  CHECK_THROWS_WITH(autograd::backward(y), Catch::Contains("since by clip_grad_value"));
}
