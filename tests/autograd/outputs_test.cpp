// Nodes with several outputs.
#include <limits>

#include "autograd/graph.h"
#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using autograd::Gradients;

namespace {

// Sine and cosine; notes which gradients its backward was called with.
std::vector<Tensor> sin_cos(const Tensor& x, std::vector<std::string>* calls = nullptr) {
  autograd::Op op("sin_cos", {x});
  const Tensor s = ops::sin(x.detach());
  const Tensor c = ops::cos(x.detach());
  return op.outputs({s, c}, [calls, s = op.keep_result(s), c = op.keep_result(c)](
                                std::vector<Tensor> d, Gradients& in) {
    if (calls != nullptr) {
      calls->push_back(std::string(d[0].defined() ? "s" : "-") + (d[1].defined() ? "c" : "-"));
    }
    if (d[0].defined()) in.add(0, ops::mul(d[0], c));
    if (d[1].defined()) in.add(0, ops::neg(ops::mul(d[1], s)));
  });
}

}  // namespace

TEST_CASE("several outputs: gradients of each, of both, and along a chain", "[autograd]") {
  const std::vector<Tensor> inputs{random_tensor({2, 3}, 1)};
  check_gradients([](const auto& t) { return sin_cos(t[0])[0]; }, inputs);
  check_gradients([](const auto& t) { return sin_cos(t[0])[1]; }, inputs);
  check_gradients(
      [](const auto& t) {
        Tensor a = t[0];
        Tensor b = t[0];
        for (int i = 0; i < 3; ++i) {
          const auto one = sin_cos(ops::mul(a, b));
          a = ops::add(one[0], 0.5);
          b = ops::mul(one[1], one[0]);
        }
        return ops::add(a, b);
      },
      inputs);
}

TEST_CASE("several outputs: backward is called once, with the gradients that there are",
          "[autograd]") {
  const Tensor x = trainable(random_tensor({3}, 1));
  std::vector<std::string> calls;
  const auto walk = [&](const auto& loss) {
    calls.clear();
    autograd::backward(ops::sum(loss(sin_cos(x, &calls))));
    return calls;
  };
  using Calls = std::vector<std::string>;
  CHECK(walk([](const auto& y) { return y[0]; }) == Calls{"s-"});
  CHECK(walk([](const auto& y) { return y[1]; }) == Calls{"-c"});
  CHECK(walk([](const auto& y) { return ops::mul(ops::exp(y[1]), ops::add(y[0], y[1])); }) ==
        Calls{"sc"});
  CHECK(walk([](const auto& y) { return ops::add(y[0], y[0]); }) == Calls{"s-"});
}

TEST_CASE("several outputs: the second is the root of backward, once", "[autograd]") {
  const Tensor x = trainable(Tensor::from<double>({0.5}, {1}, cpu()));
  const std::vector<Tensor> y = sin_cos(x);
  CHECK(y[1].result_number() == 1);
  autograd::backward(y[1]);
  CHECK(x.grad().item<double>() == Approx(-std::sin(0.5)));
  CHECK_THROWS_WITH(autograd::backward(y[0]),
                    Catch::Contains("sin_cos was already differentiated"));
}

TEST_CASE("several outputs: nothing is recorded without gradients", "[autograd]") {
  for (const Tensor& y : sin_cos(random_tensor({3}, 1))) CHECK_FALSE(y.requires_grad());
  const Tensor x = trainable(random_tensor({3}, 1));
  const autograd::NoGrad no_grad;
  for (const Tensor& y : sin_cos(x)) CHECK_FALSE(y.requires_grad());
}

TEST_CASE("several outputs: memory is freed with the handles", "[autograd][host]") {
  const Device device = make_cpu(1);
  const Tensor x = trainable(Tensor::from(std::vector<float>(1024, 0.5F), {1024}, device));
  const std::int64_t before = device.allocator().stats().bytes_in_use;
  sin_cos(x);
  CHECK(device.allocator().stats().bytes_in_use == before);
  {
    const auto y = sin_cos(x);
    autograd::backward(ops::sum(y[0]));
    // The results and the gradient: what the node kept is gone.
    CHECK(device.allocator().stats().bytes_in_use - before <= 3 * x.bytes());
  }
}

TEST_CASE("several outputs: a very long chain is freed without recursion", "[autograd][host]") {
  const Tensor x = trainable(Tensor::from<double>({0.5}, {1}, cpu()));
  const bool walked = GENERATE(false, true);
  CAPTURE(walked);
  {
    std::vector<Tensor> y{x, x};
    for (int i = 0; i < 120000; ++i) y = sin_cos(y[static_cast<std::size_t>(i % 2)]);
    if (walked) autograd::backward(y[1]);
  }
  CHECK(x.grad().defined() == walked);
}

TEST_CASE("several outputs: anomaly detection sees all of them", "[autograd]") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = trainable(Tensor::from<double>({1.0}, {1}, cpu()));
  const autograd::DetectAnomaly detect;
  const auto pair = [&](double second, double slope) {
    autograd::Op op("pair", {x});
    return op.outputs(
        {Tensor::from<double>({1.0}, {1}, cpu()), Tensor::from<double>({second}, {1}, cpu())},
        [slope](const std::vector<Tensor>&, Gradients& in) {
          in.add(0, Tensor::from<double>({slope}, {1}, cpu()));
        });
  };
  CHECK_THROWS_WITH(pair(inf, 1), Catch::Contains("pair output (forward)"));
  CHECK_THROWS_WITH(autograd::backward(pair(1, inf)[1]),
                    Catch::Contains("pair gradient (backward)"));
}

TEST_CASE("several outputs: one event for the profiler each way, with all bytes", "[autograd]") {
  const Tensor x = trainable(random_tensor({3}, 1));
  autograd::Profiler profiler;
  {
    const autograd::Profile profile(profiler);
    const auto y = sin_cos(x);
    autograd::backward(ops::sum(y[1]));
  }
  int forward = 0, back = 0;
  for (const autograd::Event& event : profiler.events()) {
    if (event.op != "sin_cos") continue;
    ++(event.backward ? back : forward);
    if (!event.backward) CHECK(event.written_bytes == 2 * x.bytes());
    if (!event.backward) CHECK(event.output == Shape{3});
  }
  CHECK(forward == 1);
  CHECK(back == 1);
}
