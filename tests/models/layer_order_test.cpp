#include "models/layer_order.h"

#include <set>

#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;

namespace {

using Layers = std::map<std::string, std::int64_t>;

Layers layers_of(const schema::Value& options) {
  const auto model = build(options, make_meta(), {3, 64, 64, 5});
  Layers layers = models::layers_to_output(*model);
  CHECK((layers.empty() || layers.size() == model->parameters().size()));
  return layers;
}

}  // namespace

// What timm 1.0.31 makes of the same networks (param_groups_layer_decay): vit_tiny_patch16_224,
// swin_tiny_patch4_window7_224, resnet18.
TEST_CASE("layer order: that of timm", "[models]") {
  SECTION("vit") {
    const Layers layers = layers_of(options_of("vit", {{"embed_dim", 48}, {"depth", 12}}));
    for (const char* stem : {"cls_token", "pos_embed", "patch_embed.proj.weight"})
      CHECK(layers.at(stem) == 13);
    for (std::int64_t i = 0; i < 12; ++i) {
      const std::string block = "blocks." + std::to_string(i);
      CHECK(layers.at(block + ".norm1.weight") == 12 - i);
      CHECK(layers.at(block + ".mlp.fc2.bias") == 12 - i);
    }
    CHECK(layers.at("norm.weight") == 1);
    CHECK(layers.at("head.bias") == 0);
  }
  SECTION("swin") {
    const Layers layers = layers_of(options_of("swin_t"));
    CHECK(layers.at("patch_embed.norm.bias") == 13);
    CHECK(layers.at("layers.0.blocks.0.norm1.weight") == 12);
    CHECK(layers.at("layers.0.blocks.1.mlp.fc2.weight") == 11);
    // (timm: layers.1.downsample, of the stage that it leads to)
    CHECK(layers.at("layers.0.downsample.norm.weight") == 10);
    CHECK(layers.at("layers.1.blocks.0.norm1.weight") == 10);
    CHECK(layers.at("layers.2.blocks.5.norm1.weight") == 3);
    CHECK(layers.at("layers.3.blocks.1.norm1.weight") == 1);
    CHECK(layers.at("norm.weight") == 1);
    CHECK(layers.at("head.weight") == 0);
  }
  SECTION("resnet") {
    const Layers layers = layers_of(options_of("resnet18"));
    CHECK(layers.at("conv1.weight") == 9);
    CHECK(layers.at("bn1.bias") == 9);
    CHECK(layers.at("layer1.0.conv1.weight") == 8);
    CHECK(layers.at("layer2.0.downsample.1.bias") == 6);
    CHECK(layers.at("layer4.1.bn2.bias") == 1);
    CHECK(layers.at("fc.weight") == 0);
  }
}

TEST_CASE("layer order: pyramids go block by block, with their decoders in the head", "[models]") {
  const Layers pvt = layers_of(options_of("pvt_v2_b0"));
  CHECK(pvt.at("patch_embed1.proj.weight") == 9);
  CHECK(pvt.at("block1.0.norm1.weight") == 8);
  CHECK(pvt.at("norm1.weight") == 7);
  CHECK(pvt.at("patch_embed2.proj.weight") == 6);
  CHECK(pvt.at("block4.1.mlp.fc2.bias") == 1);
  CHECK(pvt.at("norm4.bias") == 1);
  CHECK(pvt.at("head.bias") == 0);
  const Layers unet = layers_of(options_of("resnet_unet"));
  CHECK(unet.at("encoder.conv1.weight") > 1);
  std::set<std::int64_t> seen;
  for (const auto& [name, layer] : unet) {
    seen.insert(layer);
    if (!name.starts_with("encoder.")) CHECK(layer == 0);
  }
  CHECK(static_cast<std::int64_t>(seen.size()) == *seen.rbegin() + 1);
  CHECK(layers_of(options_of("unet_classic")).empty());
}
