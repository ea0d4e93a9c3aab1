// A complete backbone, as docs/adding-a-backbone.md describes it: two convolutions, a level each.
// In src/models/ it would be one file, one line in backbones.def and one experiment file.
#include <catch2/catch.hpp>

#include <array>

#include "autograd/graph.h"
#include "experiment/file/experiment.h"
#include "models/backbone.h"
#include "nn/convolution.h"
#include "nn/norm.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "optim/registry.h"
#include "tests/support/paths.h"
#include "tests/support/tensors.h"
#include "training/losses/loss.h"
#include "training/store/weights.h"

namespace {

using namespace fovea;

struct Options : models::BackboneOptions {
  std::int64_t width = 4;
};

class Toy final : public models::Backbone {
 public:
  static constexpr std::array<const char*, 1> kHead = {"head.*"};

  Toy(const nn::Build& build, const Options& o, std::int64_t in_chans)
      : fine_(child<nn::Conv2d>("fine", build, in_chans, o.width, ops::Sizes{3},
                                ops::ConvOptions{.stride = {2}, .padding = {1}})),
        coarse_(child<nn::Conv2d>("coarse", build, o.width, 2 * o.width, ops::Sizes{3},
                                  ops::ConvOptions{.stride = {2}, .padding = {1}})) {
    levels_ = {{o.width, 2}, {2 * o.width, 4}};
  }
  std::string type() const override { return "Toy"; }

 protected:
  std::vector<Tensor> forward(const Tensor& image, attention::Probe*) override {
    const Tensor fine = ops::relu(fine_(image));
    return {fine, ops::relu(coarse_(fine))};
  }

 private:
  nn::Conv2d& fine_;
  nn::Conv2d& coarse_;
};

}  // namespace

FOVEA_BACKBONE(toy, Toy, "two convolutions (an example)",
               fovea::schema::Fields<Options>{}.add("width", &Options::width,
                                                    fovea::schema::at_least(1),
                                                    "channels of the finer level"))

namespace {

void register_backbones() {
  static const bool once = [] {
#define FOVEA_BACKBONE_ENTRY(name) models::backbones().add(fovea_backbone_##name());
#include "tests/experiment/toy_backbones.def"
#undef FOVEA_BACKBONE_ENTRY
    return true;
  }();
  (void)once;
}

}  // namespace

TEST_CASE("toy backbone: an experiment file puts it under a dense head, which learns",
          "[experiment]") {
  register_backbones();
  const auto path = test::source_dir() + "/tests/experiment/toy_unet.json";
  const experiment::Experiment e =
      experiment::parse(experiment::resolve(experiment::load_unresolved(path, {})));
  const auto model = experiment::make_model(e, test::cpu(), experiment::data_shape(e));
  // Two levels: a decoder of half the finer one's channels, and logits of the image's size.
  const auto tensors = nn::named_tensors(*model);
  CHECK(tensors.at("encoder.fine.weight").shape() == Shape{6, 3, 3, 3});
  CHECK(tensors.at("up1.conv.double_conv.0.weight").shape() == Shape{3, 18, 3, 3});
  const Tensor images = test::random_tensor({3, 3, 12, 16}, 1, DType::kFloat32);
  const Tensor masks = ops::cast(test::uniform_tensor({3, 1, 12, 16}, 0, 1, 2), DType::kFloat32);
  CHECK((*model)({.image = images}).maps.at(0).shape() == masks.shape());

  const training::Loss loss = training::make_loss(e.loss.value(), training::Compares::kMasks);
  std::vector<optim::Parameter> parameters;
  for (const auto& [name, tensor] : model->parameters()) parameters.push_back({name, tensor});
  const auto optimiser = optim::make_optimiser(e.optimizer, parameters);
  model->train(true);
  std::vector<double> losses;
  for (int step = 0; step < 20; ++step) {
    model->set_random(RandomStream(1));
    const Tensor value = loss(model->operator()({.image = images}), masks);
    losses.push_back(training::scalar_of(value));
    optimiser->zero_grad();
    autograd::backward(value);
    optimiser->step(0.02);
  }
  CHECK(losses.back() < losses.front());
}

TEST_CASE("toy backbone: its keys are checked and documented as any other's", "[experiment]") {
  register_backbones();
  const auto path = test::source_dir() + "/tests/experiment/toy_unet.json";
  CHECK_THROWS_WITH(
      experiment::resolve(experiment::load_unresolved(path, {"model.backbone.widht=3"})),
      Catch::Contains("did you mean") && Catch::Contains("width"));
  const schema::Choice choice =
      schema::find_choice(models::backbones().choices(), "toy", "model.backbone.type");
  CHECK(choice.fields->keys() == std::vector<std::string>{"width", "weights"});
}
