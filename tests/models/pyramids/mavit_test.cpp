#include "models/pyramids/mavit.h"

#include <fmt/format.h>

#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"
#include "tests/support/mixed_precision.h"

using namespace fovea;
using namespace fovea::test;

namespace {

const char* const kTinyMavit = R"("embed_dims": [4, 8], "depths": [2, 1], "num_heads": [1, 2],
                             "mlp_ratios": [2, 2], "layer_scale_init": [1, 0.5],
                             "projection": 6, "drop_path_rate": 0.0)";

schema::Value mavit_options(const std::string& flags, const std::string& more = "") {
  return schema::parse(
      fmt::format(R"({{"type": "mavit_t", "flags": "{}", {}{}}})", flags, kTinyMavit, more),
      "test.json");
}

std::unique_ptr<models::Model> tiny_mavit(const std::string& flags, const std::string& more = "",
                                          DType dtype = DType::kFloat64) {
  return build(mavit_options(flags, more), cpu(), {3, 16, 16, 3}, dtype);
}

std::unique_ptr<models::Backbone> mavit_backbone_of(const std::string& json,
                                                    const nn::Build& init) {
  const schema::Value given = schema::parse(json, "test.json");
  const models::BackboneEntry& entry = models::backbones().find(given.at("type").as_string());
  return entry.make(init, {entry.name, entry.fields->resolve_component(given, "b")}, 3);
}

}  // namespace

TEST_CASE("mavit: parameters and multiply-adds of every size", "[models]") {
  struct Expected {
    const char* type;
    std::int64_t parameters, backbone;
    double macs_modules, macs_llvv, macs_llll;  // 10^9
  };
  // mala 5.1, 5.2; the counts of operations to the three digits given there.
  for (const Expected& e : {Expected{"mavit_t", 16449128, 13347328, 2.458, 2.639, 2.562},
                            Expected{"mavit_s", 27142568, 24040896, 4.564, 4.904, 4.758},
                            Expected{"mavit_b", 49792648, 46691296, 9.883, 10.604, 10.371},
                            Expected{"mavit_l", 97766088, 93561760, 16.212, 17.256, 16.825}}) {
    INFO(e.type);
    const Cost found = cost(options_of(e.type), 224, 1000);
    CHECK(found.parameters == e.parameters);
    CHECK(1e-9 * static_cast<double>(found.macs_paper) == Approx(e.macs_modules).margin(5e-4));
    CHECK(1e-9 * static_cast<double>(found.macs) == Approx(e.macs_llvv).margin(5e-4));
    const Cost text = cost(options_of(e.type, {{"flags", "llll"}}), 224, 1000);
    CHECK(text.parameters == e.parameters);
    CHECK(1e-9 * static_cast<double>(text.macs) == Approx(e.macs_llll).margin(5e-4));
    CHECK(text.macs_paper == found.macs_paper);
    const nn::Build init{make_meta(), DType::kFloat32, RandomStream(1), nn::Init::kTorch};
    CHECK(mavit_backbone_of(fmt::format(R"({{"type": "{}"}})", e.type), init)->parameter_count() ==
          e.backbone);
  }
}

TEST_CASE("mavit: names of the authors' code", "[models]") {
  const auto model = build(options_of("mavit_t"), make_meta(), {3, 224, 224, 1000});
  const std::map<std::string, Tensor> named = nn::named_tensors(*model);
  std::int64_t counters = 0;
  for (const auto& [name, tensor] : named) counters += name.ends_with("num_batches_tracked");
  CHECK(named.size() == 302);
  CHECK(counters == 8);
  CHECK(named.at("layers.0.RoPE.angle").shape() == Shape{32});
  CHECK(named.at("layers.2.blocks.5.gamma_1").shape() == Shape{1, 256, 1, 1});
  CHECK(named.at("layers.3.blocks.1.attn.qkvo.weight").shape() == Shape{2048, 512, 1, 1});
  CHECK(named.at("layers.1.downsample.norm.running_mean").shape() == Shape{256});
  CHECK(named.at("patch_embed.proj.10.weight").shape() == Shape{64});
  CHECK(named.at("head.weight").shape() == Shape{1000, 2048, 1, 1});
  CHECK(named.contains("layers.0.blocks.0.norm2.norm.bias"));
  CHECK(named.contains("layers.0.blocks.0.ffn.dwconv.weight"));
}

TEST_CASE("mavit: gradients of every parameter, with either attention and other options",
          "[models][long]") {
  for (const char* flags : {"lv", "llv"}) {
    for (const char* more :
         {"", R"(, "attention": {"beta": "learnable", "gamma": "learnable", "gate": false,
                                "lepe": 3, "rope": "none"})"}) {
      const auto model = tiny_mavit(flags, more);
      model->train(true);
      const Tensor image = random_tensor({2, 3, 16, 16}, 1);
      const Tensor labels = Tensor::from(std::vector<std::int64_t>{2, 0}, {2}, cpu());
      model->set_random(RandomStream(1));
      check_directions(
          *model, [&] { return ops::cross_entropy((*model)({.image = image}).logits, labels); });
    }
  }
}

TEST_CASE("mavit: flags of stages and of blocks, and others are refused", "[models]") {
  const auto types = [](const std::string& flags) {
    std::vector<std::string> found;
    for (const auto& [name, type] : tiny_mavit(flags)->types()) {
      if (type.ends_with("Attention2d")) found.push_back(type.substr(0, 4));
    }
    return found;
  };
  CHECK(types("lv") == std::vector<std::string>{"Mala", "Mala", "Soft"});
  CHECK(types("lvl") == std::vector<std::string>{"Mala", "Soft", "Mala"});
  CHECK_THROWS_WITH(tiny_mavit("lx"),
                    Catch::Contains("flags is \"lx\"; expected a letter l or v for each "
                                    "of 2 stages, or of 3 blocks"));
  CHECK_THROWS_WITH(tiny_mavit("l"), Catch::Contains("flags is \"l\""));
  CHECK_THROWS_WITH(build(options_of("mavit_t", {{"depths", schema::Value::array({1, 1})}}), cpu(),
                          {3, 32, 32, 3}),
                    Catch::Contains("embed_dims has 4 numbers for 2 stages"));
}

TEST_CASE("mavit: odd sizes of images, and levels of a backbone", "[models]") {
  const nn::Build init{cpu(), DType::kFloat32, RandomStream(1), nn::Init::kTorch};
  const auto backbone = mavit_backbone_of(
      R"({"type": "mavit_t", "embed_dims": [4, 8], "depths": [1, 1], "num_heads": [1, 2],
          "mlp_ratios": [2, 2], "layer_scale_init": [1, 1], "flags": "lv"})",
      init);
  const std::vector<Tensor> maps = (*backbone)(random_tensor({1, 3, 37, 50}, 2, DType::kFloat32));
  REQUIRE(maps.size() == 2);
  CHECK(maps[0].shape() == Shape{1, 4, 10, 13});
  CHECK(maps[1].shape() == Shape{1, 8, 5, 7});
  CHECK(backbone->levels()[1].stride == 8);
}

TEST_CASE("mavit: a probe sees the map of every block and its features, and changes nothing",
          "[models]") {
  const auto model = tiny_mavit("lv");
  const Tensor image = random_tensor({1, 3, 16, 16}, 3);
  attention::Probe probe;
  const Tensor seen = (*model)({.image = image}, &probe).logits;
  CHECK(max_difference(seen, (*model)({.image = image}).logits) == 0.0);
  REQUIRE(probe.all("attn").size() == 3);
  CHECK(probe.all("attn")[0].shape() == Shape{1, 1, 16, 16});
  CHECK(probe.all("attn")[2].shape() == Shape{1, 2, 4, 4});
  REQUIRE(probe.all("features").size() == 3);
}

TEST_CASE("mavit: rates of positions are those of a file that was read", "[models]") {
  models::MavitRope rope({cpu(), DType::kFloat64, RandomStream(1)}, 8);
  const auto first_pair = [&] {  // of row 1
    return to_doubles(rope({2, 2}, DType::kFloat64).sin)[2 * 4];
  };
  CHECK(first_pair() == Approx(std::sin(1)));
  nn::load_weights(rope,
                   {{"angle", Tensor::from(std::vector<double>{0.5, 0.5, 0.1, 0.1}, {4}, cpu())}},
                   "rates.safetensors");
  CHECK(first_pair() == Approx(std::sin(0.5)));
}
