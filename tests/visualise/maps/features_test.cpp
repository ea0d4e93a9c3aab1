// What layers make of patches, and its picture.
#include "visualise/maps/features.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "ops/elementwise.h"
#include "tests/models/network.h"
#include "tests/support/opaque.h"
#include "tests/support/tensors.h"
#include "tests/visualise/small_decoder.h"

using namespace fovea;
using namespace fovea::test;
using namespace fovea::visualise;
using schema::Value;

namespace {

const models::DataShape kImages{.channels = 3, .height = 8, .width = 12, .num_classes = 3};

Value vit(const char* norm_position) {
  return Value::object({{"type", "vit"},
                        {"patch_size", 4},
                        {"embed_dim", 8},
                        {"depth", 2},
                        {"norm_position", norm_position},
                        {"attention", Value::object({{"type", "softmax"}, {"num_heads", 2}})}});
}

Tensor image() { return random_tensor({1, 3, 8, 12}, 4, DType::kFloat32); }

// What the probe sees under a name, the last of it.
Tensor last_record(models::Model& model, const std::string& name) {
  const autograd::NoGrad no_grad;
  attention::Probe probe;
  model.train(false);
  model({.image = image()}, &probe);
  return probe.all(name).back();
}

}  // namespace

TEST_CASE("features: patches of every block, without the class token", "[visualise]") {
  const auto network = build(vit("pre"), cpu(), kImages);
  const auto layers = observe_features(*network, image());
  REQUIRE(layers.size() == 2);
  CHECK(layers[0].layer == "blocks.0");
  CHECK(layers[1].layer == "blocks.1");
  CHECK(layers[1].grid_h == 2);
  CHECK(layers[1].grid_w == 3);
  REQUIRE(layers[1].vectors.shape() == Shape{6, 8});
  const Tensor tokens = last_record(*network, "tokens_before_final_norm");  // (1, 7, 8)
  for (std::size_t i = 0; i < 48; ++i) {
    CHECK(layers[1].vectors.host_values<double>()[i] == double{tokens.host_values<float>()[8 + i]});
  }
  CHECK(observe_features(*build(vit("post"), cpu(), kImages), image()).size() == 2);
}

TEST_CASE("features: the same pictures from any device", "[visualise]") {
  const auto pictures = [](const Device& device) {
    const auto network = build(vit("pre"), device, kImages);
    const std::vector<LayerFeatures> one = {observe_features(*network, image())[1]};
    return component_pictures(one, 8, 12, false).pictures[0].rgb;
  };
  CHECK(pictures(make_opaque()) == pictures(cpu()));
}

TEST_CASE("features: positions of the maps of a ResNet's stages", "[visualise]") {
  const auto network =
      build(Value::object({{"type", "resnet20"},
                           {"planes", Value::array(std::vector<std::int64_t>{2, 3, 4})}}),
            cpu(), kImages);
  const auto layers = observe_features(*network, image());
  REQUIRE(layers.size() == 3);
  CHECK(layers[2].layer == "layer3");
  CHECK(layers[2].grid_h == 2);
  CHECK(layers[2].grid_w == 3);
  REQUIRE(layers[2].vectors.shape() == Shape{6, 16});
  const Tensor map = last_record(*network, "features");
  REQUIRE(map.shape() == Shape{1, 16, 2, 3});
  for (std::size_t patch = 0; patch < 6; ++patch) {
    for (std::size_t c = 0; c < 16; ++c) {
      CHECK(layers[2].vectors.host_values<double>()[patch * 16 + c] ==
            double{map.host_values<float>()[c * 6 + patch]});
    }
  }
}

TEST_CASE("features: stages of pyramids, of decoders, of RLA-ResNets and levels of U-Nets",
          "[visualise]") {
  const auto layers_of = [](const Value& options) {
    const auto network = build(options, cpu(), kSmallImages);
    std::vector<std::string> names;
    for (const LayerFeatures& layer :
         observe_features(*network, random_tensor({1, 3, 64, 32}, 4, DType::kFloat32))) {
      CHECK(layer.vectors.size(0) == layer.grid_h * layer.grid_w);
      CHECK(layer.grid_h == 2 * layer.grid_w);
      names.push_back(layer.layer);
    }
    return names;
  };
  const auto list = [](std::vector<std::int64_t> values) { return Value::array(values); };
  using Names = std::vector<std::string>;
  const Names decoder = layers_of(small_decoder("pvt_gdla"));
  REQUIRE(decoder.size() == 7);
  CHECK(decoder[0] == "backbone.block1.0");
  CHECK(decoder[6] == "de3");
  CHECK(layers_of(options_of(
            "rla_resnet50",
            {{"depths", list({1, 1})}, {"planes", list({2, 2})}, {"rla_channels", 2}})) ==
        Names{"stages.0", "stages.1"});
  CHECK(
      layers_of(options_of("unet", {{"widths", list({2, 4})}, {"decoder_channels", list({2})}})) ==
      Names{"inc", "down.0", "up.0"});
}

TEST_CASE("features: a network that records none is refused", "[visualise]") {
  const auto network = build(
      options_of("unet_plus_plus", {{"widths", Value::array(std::vector<std::int64_t>{2, 2})}}),
      cpu(), kSmallImages);
  CHECK_THROWS_WITH(observe_features(*network, random_tensor({1, 3, 32, 32}, 4, DType::kFloat32)),
                    Catch::Contains("record no features; expected a Transformer, a ResNet"));
}

TEST_CASE("component pictures: what is alike has one colour in all images", "[visualise]") {
  // Two images of 1 x 2 and 2 x 1 patches that are either a or b.
  const std::vector<double> ab = {5, 0, 0, 1, 0, 3}, ba = {1, 0, 3, 5, 0, 0};
  const std::vector<LayerFeatures> images = {{"blocks.0", 1, 2, Tensor::from(ab, {2, 3}, cpu())},
                                             {"blocks.0", 2, 1, Tensor::from(ba, {2, 3}, cpu())}};
  const ComponentPictures found = component_pictures(images, 4, 4, false);
  CHECK(found.shares[0] == Approx(1));
  CHECK(found.shares[1] == Approx(0).margin(1e-12));
  REQUIRE(found.pictures.size() == 2);
  CHECK(found.pictures[0].width == 4);
  CHECK(found.pictures[0].height == 4);
  // The axis points from b to a, where its largest entry, the first, is positive.
  const Colour a{255, 128, 128}, b{0, 128, 128};
  CHECK(found.pictures[0].at(0, 0) == a);
  CHECK(found.pictures[0].at(1, 3) == a);
  CHECK(found.pictures[0].at(2, 0) == b);
  CHECK(found.pictures[1].at(3, 1) == b);
  CHECK(found.pictures[1].at(0, 2) == a);
  const Canvas smooth = component_pictures(images, 4, 4, true).pictures[0];
  CHECK(smooth.at(0, 0) == a);
  CHECK((smooth.at(1, 0).r < 255 && smooth.at(1, 0).r > 0));
}
