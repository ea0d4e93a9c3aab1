// Values that backward needs: overwritten ones are noticed, and some are made again.
#include "autograd/kept.h"

#include "autograd/graph.h"
#include "autograd/mode.h"
#include "backend/backend.h"
#include "ops/conv/convolution.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("kept values: the error names both operations and what was changed", "[autograd]") {
  const Tensor x = trainable(random_tensor({3, 4}, 1));
  const Tensor w = trainable(random_tensor({5, 4}, 2));
  SECTION("the input of an operation with one") {
    const Tensor y = ops::gelu(x);
    x.written("sgd");
    CHECK_THROWS_WITH(autograd::backward(ops::sum(y)),
                      Catch::Contains("backward: gelu needs its input, float64 (3, 4), as it was; "
                                      "it was changed since by sgd; call backward() before that"));
  }
  SECTION("one of several") {
    const Tensor y = ops::linear(x, w);
    ops::fill(w, 0);
    CHECK_THROWS_WITH(autograd::backward(ops::sum(y)),
                      Catch::Contains("linear needs its input 2 of 3, float64 (5, 4), as it was; "
                                      "it was changed since by fill"));
  }
  SECTION("the result, through a view") {
    const Tensor y = ops::tanh(x);
    ops::fill(y.rows(1, 2), 0);
    CHECK_THROWS_WITH(autograd::backward(ops::sum(y)),
                      Catch::Contains("tanh needs its result, float64 (3, 4), as it was; it was "
                                      "changed since by fill"));
  }
  SECTION("the module, while it is known") {
    const autograd::DetectAnomaly detect;
    const autograd::ModuleScope scope("blocks.5");
    const Tensor y = ops::gelu(x);
    ops::copy_into(random_tensor({3, 4}, 3), x);
    CHECK_THROWS_WITH(autograd::backward(ops::sum(y)),
                      Catch::Contains("blocks.5 gelu needs its input, float64 (3, 4), as it was; "
                                      "it was changed since by copy_into"));
  }
}

TEST_CASE("kept values: writing before forward, after backward or to a copy is fine",
          "[autograd]") {
  const Tensor x = trainable(random_tensor({4}, 1));
  ops::fill(x, 0.5);
  Tensor y = ops::gelu(x);
  const Tensor copy = ops::clone(x);
  ops::fill(copy, 1);
  autograd::backward(ops::sum(y));
  ops::fill(x, 2);
  y = ops::gelu(x);
  CHECK_NOTHROW(autograd::backward(ops::sum(y)));
}

TEST_CASE("kept values: what nobody needs may be overwritten", "[autograd]") {
  const Tensor x = trainable(random_tensor({4}, 1));
  const Tensor factor = random_tensor({4}, 2);
  const Tensor expected = ops::clone(factor);
  // The derivative by x is the factor; the one by the factor is not asked for.
  const Tensor y = ops::add(ops::mul(x, factor), x);
  ops::fill(x, 7);
  autograd::backward(ops::sum(y));
  CHECK(max_difference(x.grad(), ops::add(expected, 1.0)) == 0);
}

TEST_CASE("kept values: a failed backward leaves no half graph to go on with", "[autograd]") {
  const Tensor x = trainable(random_tensor({4}, 1));
  const Tensor y = ops::sum(ops::gelu(x));
  ops::fill(x, 7);
  CHECK_THROWS_WITH(autograd::backward(y), Catch::Contains("changed since"));
  CHECK_THROWS_WITH(autograd::backward(y), Catch::Contains("already differentiated"));
}

TEST_CASE("checkpoint: what it was run on and the parameters inside are watched", "[autograd]") {
  const Tensor x = trainable(random_tensor({3, 4}, 1));
  const Tensor w = trainable(random_tensor({4, 4}, 2));
  const bool nested = GENERATE(false, true);
  const auto inner = [&](const std::vector<Tensor>& t) { return ops::gelu(ops::linear(t[0], w)); };
  const auto run = [&] {
    if (!nested) return autograd::checkpoint(inner, {x});
    return autograd::checkpoint([&](const auto& t) { return autograd::checkpoint(inner, t); }, {x});
  };
  const Tensor first = run();
  ops::fill(x, 1);
  CHECK_THROWS_WITH(autograd::backward(ops::sum(first)),
                    Catch::Contains("checkpoint needs its input, float64 (3, 4), as it was"));
  const Tensor second = run();
  w.written("adamw");
  CHECK_THROWS_WITH(autograd::backward(ops::sum(second)),
                    Catch::Contains("checkpoint needs a value that it read, float64 (4, 4), as it "
                                    "was; it was changed since by adamw"));
}

TEST_CASE("checkpoint: an input that a norm makes again is not kept", "[autograd][host]") {
  const Device device = make_cpu(1);
  const Tensor x = trainable(Tensor::from(std::vector<float>(4096, 1.0F), {64, 64}, device));
  const auto rows = [](const std::vector<Tensor>& t) { return ops::sum(ops::exp(t[0]), {1}); };
  const std::int64_t before = device.allocator().stats().bytes_in_use;
  const Tensor y = autograd::checkpoint(rows, {ops::layer_norm(x, {}, {}, 1e-5)});
  // Statistics of the rows, and the result.
  CHECK(device.allocator().stats().bytes_in_use - before <= 3 * 64 * 4);
  autograd::backward(ops::sum(y));
  const Tensor found = x.grad();
  x.set_grad({});
  autograd::backward(ops::sum(rows({ops::layer_norm(x, {}, {}, 1e-5)})));
  CHECK(max_difference(found, x.grad()) == 0);
}

TEST_CASE("made again: from values that were changed is an error of who kept them", "[autograd]") {
  const Tensor x = trainable(random_tensor({3, 4}, 1));
  const Tensor scale = trainable(random_tensor({4}, 2));
  const Tensor w = trainable(random_tensor({5, 4}, 3));
  const Tensor y = ops::sum(ops::linear(ops::rms_norm(x, scale, 1e-5), w));
  ops::fill(GENERATE(true, false) ? x : scale, 1);
  CHECK_THROWS_WITH(autograd::backward(y), Catch::Contains("rms_norm needs its input"));
}

TEST_CASE("made again: a result that was overwritten before it was used is kept instead",
          "[autograd]") {
  const Tensor x = trainable(random_tensor({3, 4}, 1));
  const Tensor w = trainable(random_tensor({5, 4}, 2));
  const Tensor normed = ops::rms_norm(x, {}, 1e-5);
  ops::fill(normed, 2);
  autograd::backward(ops::sum(ops::linear(normed, w)));
  // Three rows of twos.
  CHECK(max_difference(w.grad(), ops::full({5, 4}, 6, DType::kFloat64, cpu())) == 0);
}

TEST_CASE("made again: by the operation that reads it, in any order of forms", "[autograd]") {
  // A convolution behind an activation and a linear layer behind a batch norm: neither knows the
  // form of what it reads, and takes it whole.
  const Tensor x = trainable(random_tensor({2, 3, 4, 4}, 1));
  const Tensor kernel = trainable(random_tensor({2, 3, 3, 3}, 2));
  const Tensor w = trainable(random_tensor({5, 4}, 3));
  check_gradients(
      [](const auto& t) {
        const Tensor a = ops::conv(ops::gelu(t[0]), t[1], {}, {});
        const Tensor b = ops::linear(ops::batch_norm({}, t[0], {}, false), t[2]);
        return ops::add(ops::sum(ops::square(a)), ops::sum(ops::square(b)));
      },
      {x, kernel, w});
}

TEST_CASE("made again: at the cost of a product only where both sides agree", "[autograd]") {
  using autograd::RemakeCost;
  const Tensor x = trainable(random_tensor({2, 4, 5, 3}, 1));
  const Tensor w = trainable(random_tensor({6, 4, 1, 1}, 2));
  const Tensor y = ops::conv(x, w, {}, {});
  CHECK(autograd::remake_of(y) == nullptr);
  const auto remake = autograd::remake_of(y, RemakeCost::kProduct);
  REQUIRE(remake != nullptr);
  CHECK(max_difference(remake->make(), y) == 0);
  // More would have to be kept than backward needs, or a sum is too long.
  const auto refuses = [](const Tensor& result) {
    return autograd::remake_of(result, RemakeCost::kProduct) == nullptr;
  };
  CHECK(refuses(ops::conv(x, w, trainable(random_tensor({6}, 3)), {})));
  CHECK(refuses(ops::conv(x, w.detach(), {}, {})));
  CHECK(refuses(ops::conv(x.detach(), w, {}, {})));
  const Tensor wide = trainable(random_tensor({1, 29, 3, 3}, 4));
  CHECK(refuses(ops::conv(trainable(random_tensor({1, 29, 3, 3}, 5)), wide, {}, {})));
}
