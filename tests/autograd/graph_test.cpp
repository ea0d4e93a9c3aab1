#include "autograd/graph.h"

#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "backend/backend.h"
#include "ops/attention/attention.h"
#include "ops/attention/unit_attention.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("gradient check: a wrong backward fails", "[autograd]") {
  const auto wrong = [](const std::vector<Tensor>& t) {
    autograd::Op op("wrong_square", {t[0]});
    return op.output(ops::square(t[0].detach()),
                     [x = t[0]](const Tensor& dy, autograd::Gradients& in) {
                       in.add(0, ops::mul(ops::mul(dy, x.detach()), 2.001));
                     });
  };
  const auto result = autograd::check_gradients(wrong, {trainable(random_tensor({4}, 1))});
  CHECK_FALSE(result.passed);
  CHECK_THAT(result.message, Catch::Contains("input 0 (4) element"));
}

TEST_CASE("gradient check: a transposed backward fails", "[autograd]") {
  const auto wrong = [](const std::vector<Tensor>& t) {
    autograd::Op op("wrong_identity", {t[0]});
    return op.output(t[0].alias({2, 2}), [](const Tensor& dy, autograd::Gradients& in) {
      const auto d = dy.host_values<double>();
      in.add(0, Tensor::from<double>({d[0], d[2], d[1], d[3]}, {2, 2}, cpu()));
    });
  };
  CHECK_FALSE(autograd::check_gradients(wrong, {trainable(random_tensor({2, 2}, 1))}).passed);
}

TEST_CASE("backward: gradients of a leaf accumulate over calls and uses", "[autograd]") {
  const Tensor x = trainable(Tensor::from<double>({3.0}, {1}, cpu()));
  autograd::backward(ops::mul(x, x));
  CHECK(x.grad().item<double>() == 6.0);
  autograd::backward(ops::add(x, ops::mul(x, 2.0)));
  CHECK(x.grad().item<double>() == 9.0);
}

TEST_CASE("backward: leaves never share a gradient", "[autograd]") {
  const Tensor a = trainable(Tensor::from<double>({1.0}, {1}, cpu()));
  const Tensor b = trainable(Tensor::from<double>({1.0}, {1}, cpu()));
  autograd::backward(ops::add(a, b));
  CHECK_FALSE(a.grad().same_storage(b.grad()));
}

TEST_CASE("backward: a second call on a freed graph is an error", "[autograd]") {
  const Tensor x = trainable(Tensor::from<double>({3.0}, {1}, cpu()));
  const Tensor y = ops::square(x);
  autograd::backward(y);
  CHECK_THROWS_WITH(autograd::backward(y), Catch::Contains("already differentiated"));
  CHECK_THROWS_AS(autograd::backward(x.detach()), Error);
}

TEST_CASE("backward: frees what it has passed, and everything at the end", "[autograd][host]") {
  const Device device = make_cpu(1);
  const std::int64_t n = 1 << 16;
  const Tensor x = trainable(ops::ones({n}, DType::kFloat32, device));
  const std::int64_t before = device.allocator().stats().bytes_in_use;
  {
    Tensor y = x;
    for (int i = 0; i < 50; ++i) y = ops::tanh(y);
    CHECK(device.allocator().stats().bytes_in_use - before >= 50 * n * 4);
    device.allocator().reset_peak();
    const std::int64_t forward = device.allocator().stats().bytes_in_use;
    autograd::backward(ops::sum(y));
    // A few gradients at a time on top of what the forward pass kept.
    CHECK(device.allocator().stats().peak_bytes - forward < 6 * n * 4);
  }
  CHECK(device.allocator().stats().bytes_in_use - before <= n * 4);  // the gradient of x
}

TEST_CASE("a warm step allocates nothing", "[autograd][host]") {
  const Device device = make_cpu(1);
  const Tensor w = trainable(ops::ones({64, 64}, DType::kFloat32, device));
  const Tensor x = ops::ones({32, 64}, DType::kFloat32, device);
  const auto step = [&] {
    w.set_grad({});
    autograd::backward(ops::mean(ops::square(ops::gelu(ops::linear(x, w)))));
  };
  step();
  step();
  const std::int64_t before = device.allocator().stats().allocations;
  step();
  CHECK(device.allocator().stats().allocations == before);
}

TEST_CASE("no_grad: nothing is recorded inside", "[autograd]") {
  const Tensor x = trainable(random_tensor({3}, 1));
  {
    const autograd::NoGrad no_grad;
    CHECK_FALSE(ops::exp(x).requires_grad());
  }
  CHECK(ops::exp(x).requires_grad());
}

TEST_CASE("checkpoint: same values and gradients, with dropout inside, in less memory",
          "[autograd]") {
  const Tensor w = trainable(random_tensor({4, 4}, 1));
  const Tensor x = trainable(random_tensor({3, 4}, 2));
  const RandomStream random(3);
  const auto block = [&](const std::vector<Tensor>& t) {
    return ops::dropout(ops::gelu(ops::linear(t[0], w)), 0.3, random);
  };
  const Tensor upstream = random_tensor({3, 4}, 4);
  const Tensor plain = block({x});
  autograd::backward(plain, upstream);
  const Tensor dx = x.grad();
  const Tensor dw = w.grad();
  x.set_grad({});
  w.set_grad({});
  const Tensor again = autograd::checkpoint(block, {x});
  autograd::backward(again, upstream);
  CHECK(max_difference(plain, again) == 0.0);
  CHECK(max_difference(dx, x.grad()) == 0.0);
  CHECK(max_difference(dw, w.grad()) == 0.0);
}

TEST_CASE("backward, and no backward: a very long chain is freed without recursion",
          "[autograd][host]") {
  // Frames of a few hundred bytes would fill the stack many times over.
  constexpr int kNodes = 150000;
  const Tensor x = trainable(Tensor::from<double>({0.5}, {1}, cpu()));
  const auto link = [](int kind, const Tensor& y) {
    switch (kind) {
      case 0:
        return ops::add(y, 0.0);  // holds its input as a node
      case 1:
        return ops::sin(y);  // holds it in its closure too
      case 2:
        return ops::relu(y);  // and in a recipe
      default:
        return autograd::checkpoint([](const auto& t) { return ops::sin(t[0]); }, {y});
    }
  };
  const int kind = GENERATE(0, 1, 2, 3);
  const bool walked = GENERATE(false, true);
  CAPTURE(kind, walked);
  {
    Tensor y = x;
    for (int i = 0; i < kNodes; ++i) y = link(kind, y);
    if (walked) autograd::backward(y);
  }
  CHECK(x.grad().defined() == walked);
}

TEST_CASE("checkpoint: a very long chain inside is freed without recursion", "[autograd][host]") {
  const Tensor x = trainable(Tensor::from<double>({0.5}, {1}, cpu()));
  const auto chain = [](const std::vector<Tensor>& t) {
    Tensor y = t[0];
    for (int i = 0; i < 150000; ++i) y = ops::affine(y, 1, 1e-9);
    return y;
  };
  autograd::backward(autograd::checkpoint(chain, {x}));
  CHECK(x.grad().item<double>() == 1.0);
  // An error half-way leaves the rest to be freed.
  const Tensor zero = trainable(Tensor::from<double>({0.0}, {1}, cpu()));
  const Tensor bad = chain({ops::sqrt(zero)});
  const autograd::DetectAnomaly detect;
  CHECK_THROWS_AS(autograd::backward(bad), NumericError);
}

TEST_CASE("anomaly detection: names the first operation with a non-finite result", "[autograd]") {
  const autograd::DetectAnomaly detect;
  const autograd::ModuleScope scope("blocks.5");
  const Tensor zero = trainable(Tensor::from<double>({0.0}, {1}, cpu()));
  CHECK_THROWS_WITH(ops::log(zero),
                    Catch::Contains("first non-finite value: blocks.5 log output (forward)"));
  const Tensor root = ops::sqrt(zero);
  CHECK_THROWS_WITH(autograd::backward(root), Catch::Contains("sqrt gradient (backward)"));
}

TEST_CASE("profiler: counts multiply-adds per module, forward and backward", "[autograd]") {
  autograd::Profiler profiler;
  {
    const autograd::Profile profile(profiler);
    const autograd::ModuleScope scope("head");
    const Tensor w = trainable(random_tensor({5, 4}, 1));
    autograd::backward(ops::sum(ops::linear(random_tensor({2, 3, 4}, 2), w)));
  }
  CHECK(profiler.forward_macs() == 2 * 3 * 4 * 5);
  CHECK(profiler.events().front().op == "linear");
  CHECK(profiler.events().front().module == "head");
  CHECK(profiler.events().back().backward);
}

TEST_CASE("profiler: counts what has to be moved and computed, each value once", "[autograd]") {
  autograd::Profiler profiler;
  const Tensor x = trainable(random_tensor({2, 6}, 1)), w = trainable(random_tensor({5, 6}, 2));
  const std::int64_t number = size_of(x.dtype());
  const auto events_of = [&](const std::function<Tensor()>& f) {
    profiler.clear();
    {
      const autograd::Profile profile(profiler);
      const Tensor y = f();
      autograd::backward(y, ops::ones_like(y));
    }
    const std::vector<autograd::Event>& events = profiler.events();
    REQUIRE(events.size() >= 2);
    REQUIRE_FALSE(events.front().backward);
    REQUIRE(events.back().backward);
    REQUIRE(events.back().op == events.front().op);
    return std::pair{events.front(), events.back()};
  };
  const auto bytes = [&](const autograd::Event& event) {
    return std::pair{event.read_bytes / number, event.written_bytes / number};
  };
  using Bytes = std::pair<std::int64_t, std::int64_t>;
  {
    const auto [forward, backward] = events_of([&] { return ops::linear(x, w); });
    CHECK(bytes(forward) == Bytes{12 + 30, 10});
    CHECK(bytes(backward) == Bytes{10 + 12 + 30, 12 + 30});
    CHECK(backward.macs == 2 * 60);
    CHECK(backward.dtype == x.dtype());
  }
  {
    // One product where the input wants no gradient, and x is not written.
    const auto [forward, backward] = events_of([&] { return ops::linear(x.detach(), w); });
    CHECK(backward.macs == 60);
    CHECK(bytes(backward) == Bytes{10 + 12, 30});
  }
  {
    // Queries, keys and values in one tensor: all five products, whatever else may be wanted.
    const Tensor qkv = trainable(random_tensor({1, 4, 6}, 3));
    const auto part = [&](std::int64_t first) { return ops::heads(qkv, 1, 2, first, 2); };
    const std::int64_t product = 4 * 4 * 2;
    const auto attention = events_of([&] { return ops::attention(part(0), part(2), part(4), {}); });
    CHECK(attention.first.macs == 2 * product);
    CHECK(attention.second.macs == 5 * product);
    const ops::Units units({.grid = {4}, .unit = {4}}, cpu());
    const auto of_units =
        events_of([&] { return ops::unit_attention(part(0), part(2), part(4), units, {}); });
    CHECK(of_units.first.macs == 2 * product);
    CHECK(of_units.second.macs == 5 * product);
  }
  {
    // The same tensor twice is read once.
    const auto [forward, backward] = events_of([&] { return ops::mul(x, x); });
    CHECK(bytes(forward) == Bytes{12, 12});
  }
  {
    // Part of x is read, and part of its gradient written.
    const auto [forward, backward] = events_of([&] { return ops::slice(x, 1, 2, 3); });
    CHECK(bytes(forward) == Bytes{6, 6});
    CHECK(bytes(backward) == Bytes{6, 6});
  }
  {
    const auto [forward, backward] = events_of([&] { return ops::reshape(x, {3, 4}); });
    CHECK(forward.moved_bytes() == 0);
    CHECK(backward.moved_bytes() == 0);
  }
}

TEST_CASE("meta device: shapes, multiply-adds and peak memory without arithmetic", "[autograd]") {
  const Device meta = make_meta();
  const Tensor w = trainable(ops::zeros({1 << 15, 1 << 15}, DType::kFloat32, meta));
  const Tensor x = ops::zeros({1 << 10, 1 << 15}, DType::kFloat32, meta);
  const Tensor y = ops::linear(x, w);
  CHECK(y.shape() == Shape{1 << 10, 1 << 15});
  autograd::backward(ops::sum(y));
  CHECK(w.grad().shape() == w.shape());
  CHECK(meta.allocator().stats().peak_bytes >= 2 * (std::int64_t{1} << 32));
}

TEST_CASE("backward: a leaf is told of once its gradient is whole", "[autograd]") {
  const Tensor early = trainable(random_tensor({3}, 1)), late = trainable(random_tensor({3}, 2)),
               inside = trainable(random_tensor({3}, 3)), unused = trainable(random_tensor({3}, 4));
  const auto run = [&] {
    Tensor x = ops::mul(early, inside);
    // Run again in backward: its own backward tells nothing.
    x = autograd::checkpoint([&](const std::vector<Tensor>& in) { return ops::mul(in[0], inside); },
                             {x});
    return ops::sum(ops::mul(ops::mul(x, late), late));
  };
  autograd::backward(run());
  std::map<const void*, std::vector<double>> expected;
  for (const Tensor& leaf : {early, late, inside}) {
    expected[leaf.id()] = to_doubles(leaf.grad());
    leaf.set_grad({});
  }
  std::vector<const void*> told;
  const std::function<void(const Tensor&)> reached = [&](const Tensor& leaf) {
    CHECK(to_doubles(leaf.grad()) == expected[leaf.id()]);
    leaf.set_grad({});
    told.push_back(leaf.id());
  };
  {
    const autograd::OnceReached hearing(reached);
    autograd::backward(run());
  }
  REQUIRE(told.size() == 3);
  CHECK(told.front() == late.id());
  for (const Tensor& leaf : {early, late, inside, unused}) CHECK_FALSE(leaf.grad().defined());
  autograd::backward(run());
  CHECK(told.size() == 3);
}
