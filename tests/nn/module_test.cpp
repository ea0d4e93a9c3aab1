#include "nn/module.h"

#include "nn/norm.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

class TwoNorms final : public nn::Module {
 public:
  explicit TwoNorms(const nn::Build& build)
      : a(child<nn::BatchNorm2d>("a", build, 2)), b(child<nn::BatchNorm2d>("b", build, 2)) {}
  std::string type() const override { return "TwoNorms"; }

  nn::BatchNorm2d& a;
  nn::BatchNorm2d& b;
};

}  // namespace

TEST_CASE("modules: what is frozen is not trained", "[nn]") {
  TwoNorms norms({cpu(), DType::kFloat64, RandomStream(1), nn::Init::kTorch});
  norms.a.freeze();
  norms.train(true);
  CHECK_FALSE(norms.a.training());
  CHECK(norms.b.training());
  CHECK(norms.training());
  const Tensor x = random_tensor({3, 2, 4, 5}, 1);
  autograd::backward(ops::sum(norms.b(norms.a(x))));
  CHECK_FALSE(norms.a.parameters()[0].tensor.grad().defined());
  CHECK(norms.b.parameters()[0].tensor.grad().defined());
  CHECK(to_doubles(norms.a.buffers()[0].tensor) == std::vector<double>{0, 0});
  CHECK(to_doubles(norms.b.buffers()[0].tensor) != std::vector<double>{0, 0});
}

TEST_CASE("modules: parameters are frozen by name, modules where nothing is left to train",
          "[nn]") {
  TwoNorms norms({cpu(), DType::kFloat64, RandomStream(1), nn::Init::kTorch});
  norms.freeze([](const std::string& name) { return name.starts_with("a.") || name == "b.bias"; });
  norms.train(true);
  CHECK_FALSE(norms.a.training());
  CHECK(norms.b.training());
  CHECK(norms.training());
  autograd::backward(ops::sum(norms.b(norms.a(random_tensor({3, 2, 4, 5}, 1)))));
  for (const nn::NamedTensor& named : norms.parameters())
    CHECK(named.tensor.grad().defined() == (named.name == "b.weight"));
  CHECK(to_doubles(norms.a.buffers()[0].tensor) == std::vector<double>{0, 0});
  CHECK(to_doubles(norms.b.buffers()[0].tensor) != std::vector<double>{0, 0});

  norms.freeze([](const std::string& name) { return name == "b.weight"; });
  norms.train(true);
  CHECK_FALSE(norms.training());
}

TEST_CASE("modules: what keeps evaluating is trained", "[nn]") {
  TwoNorms norms({cpu(), DType::kFloat64, RandomStream(1), nn::Init::kTorch});
  norms.keep_evaluating();
  norms.b.keep_evaluating();
  norms.train(true);
  CHECK_FALSE(norms.training());
  CHECK(norms.a.training());
  CHECK_FALSE(norms.b.training());
  autograd::backward(ops::sum(norms.b(norms.a(random_tensor({3, 2, 4, 5}, 1)))));
  CHECK(norms.b.parameters()[0].tensor.grad().defined());
  CHECK(to_doubles(norms.b.buffers()[0].tensor) == std::vector<double>{0, 0});
}
