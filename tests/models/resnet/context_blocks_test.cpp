// Blocks of context and bridge attention in ResNets: against PyTorch, names, places.
#include <set>

#include "base/error.h"
#include "models/backbone.h"
#include "ops/shape.h"
#include "tests/models/network.h"
#include "tests/models/patterned.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

Value list(std::vector<std::int64_t> values) { return Value::array(values); }

// Stages of so many bottlenecks, 16 channels each.
std::unique_ptr<models::Backbone> tiny_resnet(const Value& attention,
                                              std::vector<std::int64_t> depths = {2, 2}) {
  const models::BackboneEntry& entry = models::backbones().find("resnet50");
  const std::vector<std::int64_t> planes(depths.size(), 4);
  const Value options = options_of("resnet50", {{"depths", list(std::move(depths))},
                                                {"planes", list(planes)},
                                                {"layer_attention", attention}});
  return entry.make({cpu(), DType::kFloat64, RandomStream(1), nn::Init::kTorch},
                    {entry.name, entry.fields->resolve_component(options, "model.backbone")}, 3);
}

void check_levels(const Value& attention, const Digest& first, const Digest& second) {
  INFO(attention.dump());
  const auto backbone = tiny_resnet(attention);
  set_pattern(*backbone);
  const std::vector<Tensor> levels = (*backbone)(patterned_image({3, 3, 16, 24}));
  check_digest(levels[0], first);
  check_digest(levels[1], second);
}

std::set<std::string> names_of(const Value& attention) {
  std::set<std::string> names;
  for (const nn::NamedTensor& named : tiny_resnet(attention)->parameters())
    names.insert(named.name);
  return names;
}

}  // namespace

TEST_CASE("ResNet with blocks of context: levels are PyTorch's", "[models]") {
  const Digest plain{305.673234619, -0.898262029114};  // of the first stage
  check_levels(Value(), plain, {66.9471749069, -0.944264181947});
  // mmcv's ContextBlock and NonLocal2d.
  check_levels(options_of("gc", {{"reduction", 4}}), {590.461391737, 0.703029503693},
               {116.580804748, -0.921723330065});
  check_levels(options_of("gc", {{"reduction", 4}, {"stages", list({2})}}), plain,
               {135.606161746, -4.59111908328});
  check_levels(options_of("non_local"), {665.478050071, -0.0352185430736},
               {199.28402956, -4.62289841393});
  check_levels(options_of("non_local", {{"stages", list({2})}, {"blocks", "before_last"}}), plain,
               {162.82737035, 1.27802716645});
  // The public code of BA-Net.
  check_levels(options_of("ba", {{"reduction", 4}}), {289.242290401, 1.78293578145},
               {87.5863270091, -1.78397381159});
}

TEST_CASE("ResNet with blocks of context: names are those of the public code", "[models]") {
  const auto gc = names_of(options_of("gc", {{"stages", list({2})}}));
  for (const char* name : {"conv_mask.weight", "conv_mask.bias", "channel_add_conv.0.weight",
                           "channel_add_conv.1.weight", "channel_add_conv.3.bias"}) {
    INFO(name);
    CHECK(gc.count(std::string("layer2.1.context_block.") + name) == 1);
    CHECK(gc.count(std::string("layer1.1.context_block.") + name) == 0);
  }
  const auto nl =
      names_of(options_of("non_local", {{"stages", list({2})}, {"blocks", "before_last"}}));
  for (const char* name : {"g", "theta", "phi", "conv_out"}) {
    INFO(name);
    CHECK(nl.count(std::string("layer2.0.nonlocal_block.") + name + ".conv.weight") == 1);
    CHECK(nl.count(std::string("layer2.1.nonlocal_block.") + name + ".conv.weight") == 0);
  }
  const auto ba = names_of(options_of("ba"));
  for (const char* name : {"pre_fusions.0.0.weight", "pre_fusions.1.1.bias", "cur_fusion.0.weight",
                           "generation.1.weight"}) {
    INFO(name);
    CHECK(ba.count(std::string("layer1.0.ba.") + name) == 1);
  }
}

TEST_CASE("ResNet with blocks of context: they begin as the identity", "[models]") {
  const Tensor image = patterned_image({2, 3, 16, 24});
  const auto plain = tiny_resnet(Value());
  for (const char* type : {"gc", "non_local"}) {
    INFO(type);
    const auto with = tiny_resnet(options_of(type));
    // The weights of the blocks around them do not depend on them.
    CHECK(max_difference((*with)(image).back(), (*plain)(image).back()) < 1e-12);
  }
}

TEST_CASE("non-local: the probe sees its map, or the row of one place", "[models]") {
  const auto backbone =
      tiny_resnet(options_of("non_local", {{"stages", list({2})}, {"blocks", "before_last"}}));
  const Tensor image = patterned_image({1, 3, 16, 24});
  attention::Probe whole;
  (*backbone)(image, &whole);
  REQUIRE(whole.all("attn").size() == 1);
  CHECK(whole.all("attn")[0].shape() == Shape{1, 1, 6, 6});
  CHECK(whole.records()[1].module == "layer2.0.nonlocal_block");
  attention::Probe one;
  one.only({.y = 0.9, .x = 0.5});
  (*backbone)(image, &one);
  REQUIRE(one.all("attn").size() == 1);
  // The place lies in the fifth of the 2 x 3 tokens.
  CHECK(max_difference(one.all("attn")[0], ops::slice(whole.all("attn")[0], 2, 4, 1)) < 1e-12);
}

TEST_CASE("ResNet with blocks of context: places that there are not are refused", "[models]") {
  CHECK_THROWS_WITH(tiny_resnet(options_of("gc", {{"stages", list({2, 3})}})),
                    Catch::Contains("model.layer_attention.stages: 3, but the network has 2 "
                                    "stages"));
  CHECK_THROWS_WITH(tiny_resnet(options_of("non_local", {{"blocks", "before_last"}}), {2, 1}),
                    Catch::Contains("before_last, but stage 2 has one block"));
}
