#include "training/losses/loss.h"

#include <catch2/catch.hpp>

#include "autograd/graph.h"
#include "base/error.h"
#include "models/dense.h"
#include "ops/conv/convolution.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/focal_loss.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "optim/registry.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/losses/loss_entry.h"

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

TEST_CASE("losses: balanced weights are scikit-learn's", "[training]") {
  const std::vector<double> weights = training::balanced_weights({5, 2, 4});
  REQUIRE(weights.size() == 3);
  CHECK(weights[0] == Approx(11.0 / 15).epsilon(1e-15));
  CHECK(weights[1] == Approx(11.0 / 6).epsilon(1e-15));
  CHECK(weights[2] == Approx(11.0 / 12).epsilon(1e-15));
  CHECK_THROWS_WITH(training::balanced_weights({5, 0, 4}),
                    Catch::Contains("loss.balanced: class 1 has no training samples"));

  const Tensor logits = test::random_tensor({4, 3}, 1);
  const Tensor labels = Tensor::from<std::int64_t>({0, 1, 2, 2}, {4}, test::cpu());
  for (const char* type : {"cross_entropy", "focal"}) {
    INFO(type);
    const auto with = [&](const std::string& options, const training::LabelCounts& counts) {
      const std::string json = std::string("{\"type\": \"") + type + "\", " + options + "}";
      return training::scalar_of(
          make_loss(test::component(json), Compares::kClasses, counts)({.logits = logits}, labels));
    };
    const std::vector<std::int64_t> counts = {5, 2, 4};
    CHECK(with("\"balanced\": true", counts) ==
          Approx(with("\"class_weights\": [1.1, 2.75, 1.375]", counts)));
    CHECK(with("\"balanced\": true", std::vector<std::int64_t>()) ==
          with("\"balanced\": false", counts));
    CHECK_THROWS_WITH(with("\"balanced\": true, \"class_weights\": [1, 2, 3]", counts),
                      Catch::Contains("choose one of the two"));
    CHECK_THROWS_WITH(with("\"balanced\": true", {}), Catch::Contains("give class_weights"));
  }
}

TEST_CASE("losses: focal loss of classes, of label maps and of soft masks", "[training]") {
  const schema::Component focal = test::component(R"({"type": "focal", "gamma": 1})");
  const Tensor map = test::random_tensor({2, 2, 3, 3}, 1, DType::kFloat32);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>(18, 1), {2, 3, 3}, test::cpu());
  CHECK(training::scalar_of(make_loss(focal, Compares::kLabelMaps)({.maps = {map}}, labels)) ==
        training::scalar_of(ops::pixel_focal_loss(map, labels, {.gamma = 1})));
  const Tensor masks = ops::cast(test::uniform_tensor({2, 2, 3, 3}, 0, 1, 2), DType::kFloat32);
  CHECK(training::scalar_of(make_loss(focal, Compares::kMasks)({.maps = {map}}, masks)) ==
        training::scalar_of(ops::binary_focal_loss(map, masks, 0.25, 1)));
  CHECK_THROWS_WITH(make_loss(focal, Compares::kRegions), Catch::Contains("does not compare"));
}

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

TEST_CASE("losses: every choice of maps, their logits added", "[training]") {
  const auto maps = [](std::initializer_list<std::uint64_t> seeds) {
    models::Outputs outputs;
    for (const std::uint64_t seed : seeds)
      outputs.maps.push_back(test::random_tensor({2, 3, 4, 4}, seed, DType::kFloat32));
    return outputs;
  };
  const Tensor labels = ops::cast(test::uniform_tensor({2, 4, 4}, 0, 2.99, 9), DType::kInt64);
  const schema::Value options =
      schema::Value::object({{"type", "dice_ce"}, {"ce_weight", 0.3}, {"dice_weight", 0.7}});
  const auto loss_of = [&](bool subsets) {
    schema::Value given = options;
    given.set("map_subsets", subsets);
    return make_loss({"dice_ce", given}, Compares::kLabelMaps);
  };
  const auto plain = loss_of(false);
  const models::Outputs three = maps({1, 2, 3});
  models::Outputs choices = three;
  const auto& m = three.maps;
  for (const Tensor& sum : {ops::add(m[0], m[1]), ops::add(m[0], m[2]), ops::add(m[1], m[2]),
                            ops::add(ops::add(m[0], m[1]), m[2])})
    choices.maps.push_back(sum);
  CHECK(loss_of(true)(three, labels).item<float>() ==
        Approx(plain(choices, labels).item<float>()).epsilon(1e-5));
  schema::Value weighed = options;
  weighed.set("map_subsets", true);
  weighed.set("map_weights", schema::Value::array({1.0, 1.0, 1.0}));
  CHECK_THROWS_WITH(make_loss({"dice_ce", weighed}, Compares::kLabelMaps),
                    Catch::Contains("given with map_subsets"));
}

TEST_CASE("losses: boundary_dou compares label maps", "[training]") {
  const schema::Value options = schema::Value::object({{"type", "boundary_dou"}});
  const auto loss = make_loss({"boundary_dou", options}, Compares::kLabelMaps);
  const Tensor map = test::random_tensor({1, 2, 5, 5}, 1, DType::kFloat32);
  const Tensor labels = ops::zeros({1, 5, 5}, DType::kInt64, test::cpu());
  models::Outputs outputs;
  outputs.maps = {map};
  CHECK(loss(outputs, labels).item<float>() > 0);
  CHECK_THROWS_AS(make_loss({"boundary_dou", options}, Compares::kMasks), ConfigError);
}

TEST_CASE("dice_ce: weights of classes weigh both parts, as in MONAI's DiceCELoss", "[training]") {
  const Tensor logits =
      Tensor::from<double>({0.5, -1, 2, 1, 0.25, -0.5, -0.75, 1.5, 0}, {1, 3, 1, 3}, test::cpu());
  const Tensor labels = Tensor::from<std::int64_t>({0, 2, 1}, {1, 1, 3}, test::cpu());
  const auto value = [&](bool background) {
    const schema::Value options = schema::Value::object(
        {{"type", "dice_ce"},
         {"class_weights", schema::Value::array(std::vector<double>{0.5, 1, 2})},
         {"background", background}});
    return make_loss({"dice_ce", options}, Compares::kLabelMaps)(models::Outputs{.maps = {logits}},
                                                                 labels)
        .item<double>();
  };
  CHECK(value(true) == Approx(1.6924058405231945));
  CHECK(value(false) == Approx(1.8134570860615342));
}

namespace fovea::training {
namespace {

struct Toy : MapOptions {
  double scale = 1;
};

// What a source file of a new loss holds.
FOVEA_LOSS(toy, LossMaker<Toy>("scale times the mean of (map - mask)^2",
                               schema::Fields<Toy>{}.add("scale", &Toy::scale, schema::at_least(0),
                                                         "what it says"))
                    .compares(Compares::kMasks, [](const Tensor& map, const Tensor& masks,
                                                   const Toy& o) {
                      return ops::mul(ops::mean(ops::square(ops::sub(map, masks))), o.scale);
                    }))

}  // namespace
}  // namespace fovea::training

TEST_CASE("losses: a new one is a source file and a line", "[training]") {
  training::losses().add(training::fovea_loss_toy());
  const schema::Component toy{"toy", schema::Value::object({{"scale", 3.0}})};
  CHECK(training::compares(toy, Compares::kMasks));
  CHECK_FALSE(training::compares(toy, Compares::kLabelMaps));
  models::Outputs output;
  output.maps = {Tensor::from<float>({1, 2, 3, 4}, {1, 1, 2, 2}, test::cpu())};
  const Tensor masks = Tensor::from<float>({1, 1, 1, 1}, {1, 1, 2, 2}, test::cpu());
  CHECK(training::scalar_of(make_loss(toy, Compares::kMasks)(output, masks)) ==
        Approx(3 * (0 + 1 + 4 + 9) / 4.0));
  CHECK_THROWS_WITH(make_loss(toy, Compares::kLabelMaps),
                    Catch::Contains("toy does not compare label maps"));
}
