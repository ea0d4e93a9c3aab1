#include "training/store/weights.h"

#include <catch2/catch.hpp>

#include <limits>

#include "base/error.h"
#include "models/model.h"
#include "schema/json/parse.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/positions.h"
#include "training/store/foreign_weights.h"

using namespace fovea;
using nn::load_weights;
using nn::named_tensors;

namespace {

std::map<std::string, Tensor> copies(const nn::Module& module) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : named_tensors(module))
    tensors[name] = ops::clone(tensor.detach());
  return tensors;
}

}  // namespace

TEST_CASE("weights: all parameters and buffers are loaded, floating types converted",
          "[training]") {
  const test::ToyModel from(test::cpu(), 0, 1);
  const test::ToyModel to(test::cpu(), 0, 2);
  auto tensors = copies(from);
  tensors["head.weight"] = ops::cast(tensors["head.weight"], DType::kFloat64);
  tensors["bn.num_batches_tracked"] = Tensor::scalar(std::int64_t{3}, test::cpu());
  const nn::LoadReport report = load_weights(to, tensors, "x");
  CHECK(report.loaded == 5);
  for (const auto& [name, tensor] : named_tensors(to)) {
    CHECK(test::to_doubles(tensor) == test::to_doubles(named_tensors(from).at(name)));
    CHECK(tensor.writer() == std::string("copy_into"));  // a graph over the old values notices
  }
}

TEST_CASE("weights: PyTorch's habits are taken: no batch counters, a wrapper's prefix",
          "[training]") {
  const schema::Choice choice =
      schema::find_choice(models::entries().choices(), "resnet20", "model");
  const auto make = [&](std::uint64_t seed) {
    const nn::Build build{test::cpu(), DType::kFloat32, RandomStream(seed), nn::Init::kTorch};
    return models::make_model({"resnet20", choice.fields->resolve(schema::Value::object())}, build,
                              {3, 8, 8, 4});
  };
  const auto from = make(1);
  const auto to = make(2);
  std::map<std::string, Tensor> file;
  for (const auto& [name, tensor] : copies(*from)) {
    if (!name.ends_with("num_batches_tracked")) file["module." + name] = tensor;
  }
  const nn::LoadReport report = load_weights(*to, file, "x");
  CHECK(report.loaded == static_cast<std::int64_t>(file.size()));
  CHECK(report.unused.empty());
  const auto expected = named_tensors(*from);
  for (const auto& [name, tensor] : named_tensors(*to)) {
    CHECK(test::to_doubles(tensor) == test::to_doubles(expected.at(name)));
  }
  file.erase("module.conv1.weight");
  CHECK_THROWS_WITH(load_weights(*to, file, "x"), Catch::Contains("conv1.weight is missing"));
}

TEST_CASE("weights: differences are spelled out and nothing is changed", "[training]") {
  const test::ToyModel model(test::cpu(), 0, 1);
  const auto before = copies(model);
  auto tensors = copies(test::ToyModel(test::cpu(), 0, 2));
  tensors["head.weight"] = test::random_tensor({10, 8}, 1, DType::kFloat32);
  CHECK_THROWS_WITH(load_weights(model, tensors, "a.safetensors"),
                    "a.safetensors: head.weight is (10, 8), model has (4, 8); 1 of 5 tensors "
                    "differ");
  tensors.erase("fc1.bias");
  tensors["fc1.bais"] = test::random_tensor({8}, 1, DType::kFloat32);
  const nn::LoadOptions asked{{}, {}, "--ignore", "--allow-random"};
  CHECK_THROWS_WITH(
      load_weights(model, tensors, "a", asked),
      Catch::Contains("fc1.bias is missing") &&
          Catch::Contains("fc1.bais is not in the model; did you mean \"fc1.bias\"?") &&
          Catch::EndsWith(
              "3 of 5 tensors differ; pass --allow-random fc1.bias --allow-random head.* "
              "to leave random numbers there; pass --ignore fc1.bais to leave out what "
              "the model does not have"));
  for (const auto& [name, tensor] : named_tensors(model)) {
    CHECK(test::to_doubles(tensor) == test::to_doubles(before.at(name)));
  }
  CHECK_THROWS_WITH(load_weights(model, tensors, "a", {{"fc1.bais"}, {"head.*"}}),
                    "a: fc1.bias is missing; 1 of 5 tensors differ");
  const auto report = load_weights(model, tensors, "a", {{"fc1.bais"}, {"head.*", "fc1.b*"}});
  CHECK(report.loaded == 3);
  CHECK(report.random == std::vector<std::string>{"fc1.bias", "head.weight"});
  CHECK(report.unused == std::vector<std::string>{"fc1.bais", "head.weight"});
  // What is ignored is not taken even where it would fit.
  const auto without =
      load_weights(model, tensors, "a", {{"fc1.bais", "head.*"}, {"head.*", "*s"}});
  CHECK(without.random == std::vector<std::string>{"fc1.bias", "head.bias", "head.weight"});
  tensors = copies(model);
  tensors["head.bias"] = Tensor::from(std::vector<std::int64_t>(4), {4}, test::cpu());
  CHECK_THROWS_WITH(load_weights(model, tensors, "a"), Catch::Contains("of integers"));
}

TEST_CASE("weights: a value that is not finite is refused by name", "[training]") {
  const test::ToyModel model(test::cpu(), 0, 1);
  auto tensors = copies(model);
  tensors["fc1.weight"].data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH(load_weights(model, tensors, "a"), Catch::Contains("fc1.weight holds a value"));
  CHECK_NOTHROW(load_weights(model, tensors, "a", {{"fc1.*"}, {"fc1.*"}}));
}

TEST_CASE("weights: the advice is never to leave most of a network random", "[training]") {
  const nn::LoadOptions asked{{}, {}, "--ignore", "--allow-random"};
  const test::ToyModel model(test::cpu(), 0, 1);
  std::map<std::string, Tensor> prefixed, foreign;
  for (const auto& [name, tensor] : copies(model)) {
    prefixed["net.model." + name] = tensor;
    foreign["x" + name] = tensor;
  }
  CHECK_THROWS_WITH(load_weights(model, prefixed, "a", asked),
                    Catch::EndsWith("; pass --strip-prefix net.model."));
  CHECK_THROWS_WITH(load_weights(model, foreign, "a", asked),
                    Catch::EndsWith("; these are the weights of another network, or their names "
                                    "need --rename"));
  // A checkpoint of ours has no flags to pass.
  CHECK_THROWS_WITH(load_weights(model, foreign, "a"), Catch::EndsWith("tensors differ"));
}

TEST_CASE("weights: the advice never takes tensors that fit", "[training]") {
  const nn::LoadOptions asked{{}, {}, "--ignore", "--allow-random"};
  const test::ToyModel model(test::cpu(), 0, 1);
  auto tensors = copies(model);
  tensors.erase("fc1.bias");
  CHECK_THROWS_WITH(
      load_weights(model, tensors, "a", asked),
      Catch::EndsWith("; pass --allow-random fc1.bias to leave random numbers there"));
  tensors.erase("fc1.weight");
  CHECK_THROWS_WITH(load_weights(model, tensors, "a", asked),
                    Catch::EndsWith("; pass --allow-random fc1.* to leave random numbers there"));
  tensors = copies(model);
  tensors["fc1.scale"] = test::random_tensor({2}, 1, DType::kFloat32);
  CHECK_THROWS_WITH(
      load_weights(model, tensors, "a", asked),
      Catch::EndsWith("; pass --ignore fc1.scale to leave out what the model does not have"));
}

TEST_CASE("weights: names of other programs become ours", "[training]") {
  const auto names = [](const training::ForeignWeights& from) {
    std::map<std::string, Tensor> tensors;
    const Tensor one = Tensor::scalar(1.0f, test::cpu());
    for (const char* name : {"net.fc.weight", "net.fc.bias", "net.fc.fc.weight", "head.weight"})
      tensors[name] = one;
    std::string text;
    for (const auto& [name, tensor] : renamed(tensors, from)) text += name + " ";
    return text;
  };
  CHECK(names({"x", {"net."}}) == "fc.bias fc.fc.weight fc.weight head.weight ");
  CHECK(names({"x", {}, {"fc=f"}}) == "head.weight net.f.bias net.f.f.weight net.f.weight ");
  CHECK(names({"x", {"net."}, {"^fc.=a.", ".weight=.w"}}) == "a.bias a.fc.w a.w head.w ");
  CHECK(names({"x", {}, {"^=m."}}) ==
        "m.head.weight m.net.fc.bias m.net.fc.fc.weight m.net.fc.weight ");
  CHECK_THROWS_WITH(names({"x", {"model."}}),
                    "--strip-prefix model.: changes no name of the file, which has head.weight, "
                    "..., net.fc.weight");
  CHECK_THROWS_WITH(names({"x", {}, {"fcc=f"}}), Catch::Contains("changes no name"));
  CHECK_THROWS_WITH(names({"x", {}, {"fc.fc=fc"}}),
                    "--rename fc.fc=fc: net.fc.fc.weight and net.fc.weight would both be called "
                    "\"net.fc.weight\"");
  CHECK_THROWS_WITH(names({"x", {}, {"fc"}}), Catch::Contains("expected OLD=NEW"));
  CHECK_THROWS_WITH(names({"x", {}, {"=fc"}}), Catch::Contains("expected OLD=NEW"));
}

TEST_CASE("weights: positions are resampled as timm does", "[training]") {
  std::vector<float> values;
  for (int i = 0; i < 17; ++i) {
    for (int c = 0; c < 2; ++c) values.push_back(static_cast<float>((i * 7 + c * 3) % 11));
  }
  const Tensor table = Tensor::from(values, {1, 17, 2}, test::cpu());
  const auto to = [&](std::int64_t h, std::int64_t w) {
    const Tensor result =
        training::resample_positions(table, {1, h, w, 1 + h * w}, "x.safetensors");
    CHECK(result.shape() == Shape{1, 1 + h * w, 2});
    return test::to_doubles(result);
  };
  const auto check = [](const std::vector<double>& got, const std::vector<double>& expected) {
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(2e-5));
  };
  // timm 1.0.31, resample_abs_pos_embed(table, [h, w], num_prefix_tokens=1): larger, smaller, both.
  check(to(5, 5), {0,       3,       7.41002, 10.3894, 3.4639,  7.65792, 6.44862, 3.26112, 9.62641,
                   3.51965, 6.04327, 9.53983, 2.77255, 6.96656, 6.41923, 2.98373, 7.80847, 4.13109,
                   5.35191, 6.53082, 1.76877, 4.90235, 4.9351,  1.71785, 6.41302, 3.27917, 4.11328,
                   4.79297, 2.09243, 6.02787, 4.09465, 7.0649,  7.09765, 1.12446, 6.08885, 4.82699,
                   2.92811, 5.17596, 2.36079, 5.52492, 6.22745, 9.22745, 2.46018, 6.45329, 8.44644,
                   2.50717, 9.00661, 5.52163, 4.71837, 8.5361,  1.58998, 4.58998});
  check(to(3, 3),
        {0,       3,       5.01494, 7.94357, 7.04961, 3.80345, 5.81007, 6.48115, 5.62169, 2.49338,
         4.29276, 4.76363, 3.28261, 6.7151,  5.71038, 3.86101, 6.38264, 5.40503, 3.51129, 6.94906});
  check(to(2, 6), {0,       3,       4.93334, 6.83346, 5.21317, 5.35756, 5.80528, 3.86925, 6.69375,
                   4.36715, 5.29874, 5.90034, 3.79877, 7.13071, 4.86929, 2.91056, 6.39645, 3.33228,
                   6.98239, 4.36244, 3.47692, 6.07919, 3.27346, 6.86437, 4.09357, 7.06666});
  CHECK(to(4, 4) == test::to_doubles(table));
  CHECK_THROWS_WITH(
      training::resample_positions(table, {0, 5, 5, 25}, "x"),
      "x: pos_embed has 17 rows, of which 0 are of prefix tokens; the other 17 are no "
      "square");
  CHECK_THROWS_WITH(training::resample_positions(table, {1, 5, 5, 40}, "x"),
                    Catch::Contains("40 rows of positions for 26 tokens"));
  CHECK_THROWS_WITH(training::resample_positions(table, {1, 0, 0, 40}, "x"),
                    Catch::Contains("no grid"));
}

namespace {

std::unique_ptr<models::Model> network(const std::string& type, const char* options,
                                       const models::DataShape& data) {
  const schema::Choice choice = schema::find_choice(models::entries().choices(), type, "model");
  const nn::Build build{test::cpu(), DType::kFloat32, RandomStream(1), nn::Init::kTorch};
  return models::make_model({type, choice.fields->resolve(schema::parse(options, "test"))}, build,
                            data);
}

std::unique_ptr<models::Model> small_vit() {
  return network("vit",
                 R"({"img_size": [8, 8], "embed_dim": 8, "depth": 1, "num_classes": 3,
                     "attention": {"num_heads": 2}})",
                 {3, 8, 8, 3});
}

// The sentence that loading ends with.
std::string refusal(const models::Model& model, const std::map<std::string, Tensor>& tensors) {
  try {
    load_weights(model, tensors, "x", {{}, {}, "--ignore", "--allow-random"});
  } catch (const FileError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("weights: a file of another network is called what it is", "[training]") {
  const auto vit = small_vit();
  auto tensors = copies(*vit);
  const Tensor any = test::random_tensor({8}, 1, DType::kFloat32);
  SECTION("with register tokens, whose positions differ too") {
    tensors["reg_token"] = any;
    tensors["pos_embed"] = test::random_tensor({1, 4, 8}, 1, DType::kFloat32);
    CHECK_THAT(refusal(*vit, tensors),
               Catch::Contains("; the file is a ViT with register tokens") &&
                   Catch::Contains("Fovea has it with reg_tokens") &&
                   !Catch::Contains("--interpolate-pos-embed") && !Catch::Contains("--ignore"));
  }
  SECTION("distilled") {
    tensors["dist_token"] = any;
    tensors["head_dist.weight"] = any;
    tensors["pos_embed"] = test::random_tensor({1, 6, 8}, 1, DType::kFloat32);
    CHECK_THAT(refusal(*vit, tensors), Catch::Contains("the file is a distilled DeiT") &&
                                           Catch::Contains("Fovea has it with distilled true") &&
                                           !Catch::Contains("--interpolate-pos-embed"));
  }
  SECTION("normed behind the mean") {
    for (const char* name : {"weight", "bias"}) {
      tensors[std::string("fc_norm.") + name] = tensors.at(std::string("norm.") + name);
      tensors.erase(std::string("norm.") + name);
    }
    CHECK_THAT(refusal(*vit, tensors), Catch::Contains("normed behind the mean over its patches") &&
                                           !Catch::Contains("did you mean"));
  }
  SECTION("with layer scale") {
    tensors["blocks.0.ls1.gamma"] = any;
    CHECK_THAT(refusal(*vit, tensors),
               Catch::Contains("a ViT with layer scale") && !Catch::Contains("--ignore"));
  }
  SECTION("two of these at once") {
    tensors["blocks.0.ls1.gamma"] = any;
    tensors["reg_token"] = any;
    CHECK_THAT(refusal(*vit, tensors), Catch::Contains("register tokens") &&
                                           Catch::Contains("; and a ViT with layer scale") &&
                                           Catch::EndsWith(", Fovea has it with init_values"));
  }
  SECTION("without a class token") {
    tensors.erase("cls_token");
    tensors["pos_embed"] = test::random_tensor({1, 1, 8}, 1, DType::kFloat32);
    CHECK_THAT(refusal(*vit, tensors), Catch::Contains("a ViT without a class token") &&
                                           Catch::Contains("class_token false") &&
                                           !Catch::Contains("--"));
  }
  SECTION("without biases of queries, keys and values") {
    tensors.erase("blocks.0.attn.qkv.bias");
    CHECK_THAT(refusal(*vit, tensors),
               Catch::Contains("qkv_bias false") && !Catch::Contains("--allow-random"));
  }
  SECTION("a Swin, one stage of which has the names of a ViT") {
    std::map<std::string, Tensor> swin;
    for (const auto& [name, tensor] : tensors) swin["layers.1." + name] = tensor;
    swin["layers.0.blocks.0.attn.relative_position_bias_table"] = any;
    CHECK_THAT(refusal(*vit, swin), Catch::Contains("the file is a Swin Transformer") &&
                                        !Catch::Contains("--strip-prefix"));
  }
  SECTION("ResNets of other kinds") {
    CHECK_THAT(refusal(*vit, {{"layer2.0.downsample.2.weight", any}}),
               Catch::Contains("a ResNet-D"));
    CHECK_THAT(refusal(*vit, {{"layer1.0.se.fc1.weight", any}}), Catch::Contains("an SE-ResNet"));
    CHECK_THAT(refusal(*vit, {{"stages.0.blocks.0.conv1.weight", any}}),
               Catch::Contains("timm: resnetv2"));
  }
  SECTION("wholly another one") {
    CHECK_THAT(refusal(*vit, {{"layer1.0.conv1.weight", any}}),
               Catch::Contains("the file is a ResNet: Fovea has resnet18"));
  }
  SECTION("a part that is asked for to be left out is the user's") {
    tensors["reg_token"] = any;
    CHECK_NOTHROW(load_weights(*vit, tensors, "x", {{"reg_token"}, {}}));
  }
}

TEST_CASE("weights: what is said of many blocks is said once", "[training]") {
  const auto vit = network("vit",
                           R"({"img_size": [8, 8], "embed_dim": 8, "depth": 3, "num_classes": 3,
                               "attention": {"num_heads": 2}})",
                           {3, 8, 8, 3});
  const Tensor any = test::random_tensor({8}, 1, DType::kFloat32);
  const Tensor wide = test::random_tensor({32, 9}, 1, DType::kFloat32);
  auto tensors = copies(*vit);
  for (const char* block : {"0", "1", "2"}) {
    const std::string name = std::string("blocks.") + block;
    tensors[name + ".other.gamma"] = any;
    tensors.erase(name + ".norm1.weight");
    tensors[name + ".mlp.fc1.weight"] = wide;
  }
  tensors.erase("blocks.1.norm2.bias");
  CHECK(refusal(*vit, tensors) ==
        "x: blocks.*.mlp.fc1.weight (3 tensors) are (32, 9), model has (32, 8); "
        "blocks.*.norm1.weight (3 tensors) are missing; blocks.1.norm2.bias is missing; "
        "blocks.*.other.gamma (3 tensors) are not in the model; 10 of 44 tensors differ; pass "
        "--allow-random blocks.*.mlp.fc1.* --allow-random blocks.*.norm1.* --allow-random "
        "blocks.1.norm2.bias to leave random numbers there; pass --ignore blocks.*.other.* to "
        "leave out what the model does not have");
}

TEST_CASE("weights: the networks that messages name are there", "[training]") {
  for (const char* name : {"vit", "deit_tiny", "deit_small", "deit_base", "swin_t", "swin_s",
                           "swin_b", "mavit_t", "mavit_s", "mavit_b", "mavit_l", "pvt_v2_b0",
                           "pvt_v2_b5", "unetr", "dformer", "resnet18", "resnet50", "resnet101"})
    CHECK_NOTHROW(models::entries().find(name));
}

TEST_CASE("weights: tensors that public code never uses are left in the file and named",
          "[training]") {
  const char* options = R"({"img_size": [16, 16, 16], "feature_size": 2, "hidden_size": 6,
                            "mlp_dim": 8, "num_heads": 2, "in_chans": 1, "num_classes": 2})";
  const auto unetr = network("unetr", options, {});
  auto tensors = copies(*unetr);
  const Tensor any = test::random_tensor({6}, 1, DType::kFloat32);
  for (const char* name :
       {"vit.blocks.3.norm_cross_attn.weight", "vit.blocks.0.cross_attn.q.weight",
        "vit.patch_embedding.cls_token", "encoder2.blocks.0.1.conv3.conv.weight"})
    tensors[name] = any;
  const nn::LoadReport report = load_weights(*unetr, tensors, "x");
  CHECK(report.random.empty());
  CHECK(report.known_unused.size() == 4);
  CHECK(report.unused == report.known_unused);
  CHECK_THAT(training::random_text(training::to_value(report)),
             Catch::Contains("vit.patch_embedding.cls_token") &&
                 Catch::EndsWith("not read, no part of this network uses them"));
  tensors["vit.blocks.3.norm_other.weight"] = any;
  CHECK_THROWS_WITH(load_weights(*unetr, tensors, "x"), Catch::Contains("norm_other"));
}

TEST_CASE("weights: why a tensor is random is said", "[training]") {
  const test::ToyModel model(test::cpu(), 0, 1);
  auto tensors = copies(model);
  tensors["head.weight"] = test::random_tensor({10, 8}, 1, DType::kFloat32);
  tensors.erase("fc1.bias");
  const std::vector<std::string> asked{"head.*", "fc1.*"};
  const auto text = [&](const nn::LoadOptions& options) {
    return training::random_text(training::to_value(load_weights(model, tensors, "x", options)));
  };
  CHECK(text({{}, asked}) ==
        "fc1.bias: random, not in the file; head.weight: random, of another shape in the file");
  CHECK(text({asked, asked}) ==
        "fc1.bias: random, not in the file; fc1.weight, head.bias, head.weight: random, left out "
        "as asked");
  // Older records do not tell.
  const auto old = schema::parse(R"({"random": ["a"]})", "test");
  CHECK(training::random_text(old) == "a: random, not taken from the file");
  CHECK(training::random_text(schema::parse(R"({"random": []})", "test")).empty());
}
