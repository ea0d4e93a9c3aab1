#include "training/loss.h"

#include <catch2/catch.hpp>

#include "autograd/graph.h"
#include "base/error.h"
#include "models/dense.h"
#include "ops/convolution.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/registry.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using training::Compares;
using training::make_loss;

namespace {

// Deep supervision at its smallest: a map of the image's size and one of half of it.
class TwoMaps final : public models::DenseNetwork {
 public:
  TwoMaps(const nn::Build& build, std::int64_t classes)
      : DenseNetwork(build, {{}, 3, classes}, {}),
        fine_(add_conv("fine", build, 1)),
        coarse_(add_conv("coarse", build, 2)) {}
  std::string type() const override { return "TwoMaps"; }

 protected:
  std::vector<Tensor> maps(const Tensor& images, attention::Probe*) override {
    return {fine_(images), coarse_(images)};
  }

 private:
  nn::Conv2d& add_conv(const char* name, const nn::Build& build, std::int64_t stride) {
    return child<nn::Conv2d>(name, build, in_chans(), num_classes(), ops::Sizes{3},
                             ops::ConvOptions{.stride = {stride}, .padding = {1}});
  }
  nn::Conv2d& fine_;
  nn::Conv2d& coarse_;
};

const nn::Build& build() {
  static const nn::Build made{test::cpu(), DType::kFloat32, RandomStream(1), nn::Init::kTorch};
  return made;
}

// Class 1 where the first channel is above zero.
Tensor labels_of(const Tensor& images) {
  const Tensor first = ops::reshape(ops::slice(images, 1, 0, 1), {4, 8, 6});
  return ops::cast(ops::greater(first, ops::zeros_like(first)), DType::kInt64);
}

}  // namespace

TEST_CASE("losses: of several maps, each is resized and weighed", "[training]") {
  TwoMaps network(build(), 1);
  const Tensor images = test::random_tensor({2, 3, 8, 6}, 1, DType::kFloat32);
  const Tensor masks = ops::cast(test::uniform_tensor({2, 1, 8, 6}, 0, 1, 2), DType::kFloat32);
  const models::Outputs out = network({.image = images});
  REQUIRE(out.maps.size() == 2);
  CHECK(out.maps[1].shape() == Shape{2, 1, 4, 3});
  const auto alone = [&](const Tensor& map) {
    return training::scalar_of(ops::bce_dice(ops::sigmoid(map), masks));
  };
  const double fine = alone(out.maps[0]);
  const double coarse = alone(ops::resize(out.maps[1], {8, 6}, ops::Interpolation::kLinear));
  const auto value = [&](const char* json) {
    return training::scalar_of(make_loss(test::component(json), Compares::kMasks)(out, masks));
  };
  CHECK(value(R"({"type": "bce_dice"})") == Approx(fine + coarse));
  CHECK(value(R"({"type": "bce_dice", "map_weights": [1, 0.3]})") == Approx(fine + 0.3 * coarse));
  CHECK_THROWS_WITH(value(R"({"type": "bce_dice", "map_weights": [1, 0.3, 0.1]})"),
                    Catch::Contains("loss.map_weights: 3 numbers for the 2 maps of the network"));
}

TEST_CASE("losses: one map of logits costs what its probabilities do, bit for bit", "[training]") {
  const Tensor logits = test::random_tensor({2, 1, 8, 6}, 1, DType::kFloat32);
  const Tensor masks = ops::cast(test::uniform_tensor({2, 1, 8, 6}, 0, 1, 2), DType::kFloat32);
  const training::Loss loss = make_loss({"bce_dice", {}}, Compares::kMasks);
  CHECK(loss({.maps = {logits}}, masks).item<float>() ==
        ops::bce_dice(ops::sigmoid(logits), masks).item<float>());
}

TEST_CASE("losses: a network of two maps learns label maps, both of its heads", "[training]") {
  const char* json = GENERATE(R"({"type": "cross_entropy", "map_weights": [1, 0.5]})",
                              R"({"type": "dice", "background": false})");
  INFO(json);
  TwoMaps network(build(), 2);
  network.train(true);
  const Tensor images = test::random_tensor({4, 3, 8, 6}, 1, DType::kFloat32);
  const Tensor labels = labels_of(images);
  const training::Loss loss = make_loss(test::component(json), Compares::kLabelMaps);
  std::vector<optim::Parameter> parameters;
  for (const auto& [name, tensor] : network.parameters()) parameters.push_back({name, tensor});
  const auto optimiser = optim::make_optimiser(test::component(R"({"type": "adamw"})"), parameters);
  const auto step = [&] {
    const Tensor value = loss(network({.image = images}), labels);
    optimiser->zero_grad();
    autograd::backward(value);
    for (const auto& [name, tensor] : network.parameters()) {
      INFO(name);
      REQUIRE(tensor.grad().defined());
    }
    optimiser->step(0.05);
    return training::scalar_of(value);
  };
  const double first = step();
  for (int i = 0; i < 40; ++i) step();
  CHECK(step() < 0.6 * first);
}

TEST_CASE("losses: what a loss cannot compare is refused by name", "[training]") {
  CHECK_THROWS_WITH(make_loss({"cross_entropy", {}}, Compares::kMasks),
                    Catch::Contains("cross_entropy does not compare masks; choose bce_dice"));
  CHECK_THROWS_WITH(
      make_loss({"bce_dice", {}}, Compares::kLabelMaps),
      Catch::Contains("bce_dice does not compare label maps; choose cross_entropy, dice"));
}
