#include "nn/dropout.h"

#include "autograd/graph.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

nn::Build build() { return {cpu(), DType::kFloat64, RandomStream(5), nn::Init::kTorch}; }

// A network that uses each of its two modules in two places.
class Twice final : public nn::UnaryModule {
 public:
  Twice()
      : drop_(child<nn::Dropout>("drop", build(), 0.5)),
        path_(child<nn::DropPath>("path", build(), 0.5)) {}
  std::string type() const override { return "Twice"; }
  Tensor drop(const Tensor& x) { return drop_(x); }
  Tensor path(const Tensor& x) { return path_(x); }

 protected:
  Tensor forward(const Tensor& x) override {
    return ops::mul(drop_(path_(ops::tanh(drop_(x)))), path_(x));
  }

 private:
  nn::Dropout& drop_;
  nn::DropPath& path_;
};

Tensor ones() { return ops::ones({64, 3}, DType::kFloat64, cpu()); }

}  // namespace

TEST_CASE("dropout, drop path: every call in a pass draws a mask of its own", "[nn]") {
  Twice network;
  network.train(true);
  network.set_random(RandomStream(7));
  const auto first = to_doubles(network.drop(ones()));
  const auto second = to_doubles(network.drop(ones()));
  const auto third = to_doubles(network.drop(ones()));
  CHECK(first != second);
  CHECK(second != third);
  CHECK(first != third);
  const auto path = to_doubles(network.path(ones()));
  CHECK(path != to_doubles(network.path(ones())));
  // The first call draws from the stream of the module's name, as ever.
  CHECK(first == to_doubles(ops::dropout(ones(), 0.5, RandomStream(7).fork("drop"))));
  CHECK(path == to_doubles(ops::drop_path(ones(), 0.5, RandomStream(7).fork("path"))));
  // A pass with the same stream draws the same masks again.
  network.set_random(RandomStream(7));
  CHECK(to_doubles(network.drop(ones())) == first);
  CHECK(to_doubles(network.drop(ones())) == second);
  network.train(false);
  CHECK(network.drop(ones()).device() == cpu());
  CHECK(to_doubles(network.drop(ones())) == to_doubles(ones()));
}

TEST_CASE("checkpoint: a module used twice draws as in the first forward pass", "[nn]") {
  // 0: nothing is computed again; 1: either use is; 2: both are inside one that is, too.
  const auto run = [](int levels) {
    Twice network;
    network.train(true);
    network.set_random(RandomStream(3));
    const Tensor x = trainable(random_tensor({6, 5}, 1));
    const Tensor w = trainable(random_tensor({5, 5}, 2));
    const auto block = [&](const std::vector<Tensor>& t) { return network(ops::linear(t[0], w)); };
    const auto use = [&](const Tensor& t) {
      return levels > 0 ? autograd::checkpoint(block, {t}) : block({t});
    };
    const auto both = [&](const std::vector<Tensor>& t) { return use(ops::sin(use(t[0]))); };
    const Tensor y = use(levels > 1 ? autograd::checkpoint(both, {x}) : both({x}));
    autograd::backward(y, random_tensor(y.shape(), 4));
    std::vector<double> all = to_doubles(y);
    for (const Tensor& t : {x.grad(), w.grad()}) {
      const auto values = to_doubles(t);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  const auto plain = run(0);
  CHECK(plain == run(1));
  CHECK(plain == run(2));
}

TEST_CASE("checkpoint: the calls behind it keep their numbers while it is computed again", "[nn]") {
  Twice network;
  network.train(true);
  network.set_random(RandomStream(3));
  const Tensor x = trainable(ones());
  const Tensor y = autograd::checkpoint([&](const auto& t) { return network.drop(t[0]); }, {x});
  autograd::backward(y, ones());
  CHECK(max_difference(x.grad(), y) == 0.0);
  const RandomStream stream = RandomStream(3).fork("drop").fork("call").fork(1);
  CHECK(to_doubles(network.drop(ones())) == to_doubles(ops::dropout(ones(), 0.5, stream)));
}

TEST_CASE("checkpoint: a function that draws more when it is run again is an error", "[nn]") {
  Twice network;
  network.train(true);
  network.set_random(RandomStream(3));
  int runs = 0;
  const Tensor x = trainable(ones());
  const Tensor y = autograd::checkpoint(
      [&](const auto& t) {
        const Tensor once = network.drop(t[0]);
        return runs++ == 0 ? once : network.drop(once);
      },
      {x});
  CHECK_THROWS_WITH(autograd::backward(y, ones()), Catch::Contains("draws more random numbers"));
}

TEST_CASE("channel dropout: whole channels of single items are dropped, in training only", "[nn]") {
  nn::ChannelDropout drop(build(), 0.25);
  const Tensor x = trainable(ops::ones({40, 5, 2, 3}, DType::kFloat64, cpu()));
  drop.set_random(RandomStream(3));
  CHECK(max_difference(drop(x), x) == 0);
  drop.train(true);
  const Tensor y = drop(x);
  const std::vector<double> values = to_doubles(y);
  int dropped = 0;
  for (std::size_t channel = 0; channel < 200; ++channel) {
    const double first = values[6 * channel];
    dropped += first == 0 ? 1 : 0;
    CHECK((first == 0 || first == Approx(1 / 0.75)));
    for (std::size_t i = 1; i < 6; ++i) CHECK(values[6 * channel + i] == first);
  }
  CHECK(dropped > 25);
  CHECK(dropped < 75);
  autograd::backward(ops::sum(y));
  CHECK(max_difference(x.grad(), y) == 0);
}
