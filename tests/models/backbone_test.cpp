#include "models/backbone.h"

#include "base/error.h"
#include "base/file.h"
#include "models/dense.h"
#include "schema/json/parse.h"
#include "tensor/safetensors.h"
#include "tests/models/network.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::unique_ptr<models::Model> network(const std::string& json) {
  return build(schema::parse(json, "test.json"), cpu(), {3, 16, 16, 5});
}

const char* const kBody = R"("depths": [1, 1], "planes": [4, 6])";

std::string unet_over(const std::string& weights) {
  return std::string(R"({"type": "pyramid_unet", "backbone": {"type": "resnet18", )") + kBody +
         R"(, "weights": ")" + weights + "\"}}";
}

std::string classifier() { return std::string(R"({"type": "resnet18", )") + kBody + "}"; }

}  // namespace

TEST_CASE("backbones: every one gives the levels it promises", "[models]") {
  for (const models::BackboneEntry& entry : models::backbones()) {
    INFO(entry.name);
    const Device meta = make_meta();
    const schema::Component options{
        entry.name, entry.fields->resolve_component(schema::Value::object({{"type", entry.name}}),
                                                    "model.backbone")};
    const auto backbone =
        entry.make({meta, DType::kFloat32, RandomStream(1), nn::Init::kTorch}, options, 3);
    const autograd::NoGrad no_grad;
    // Of a size that no stride divides.
    const auto maps = (*backbone)(Tensor::empty({2, 3, 67, 101}, DType::kFloat32, meta));
    REQUIRE(maps.size() == backbone->levels().size());
    std::int64_t finer = 1;
    for (std::size_t k = 0; k < maps.size(); ++k) {
      const auto [channels, stride] = backbone->levels()[k];
      CHECK(maps[k].shape() ==
            Shape{2, channels, (67 + stride - 1) / stride, (101 + stride - 1) / stride});
      CHECK(stride >= finer);
      finer = stride;
    }
    CHECK_FALSE(entry.head.empty());
  }
}

TEST_CASE("backbones: every one can be frozen stage by stage", "[models]") {
  for (const models::BackboneEntry& entry : models::backbones()) {
    INFO(entry.name);
    const schema::Component options{
        entry.name, entry.fields->resolve_component(schema::Value::object({{"type", entry.name}}),
                                                    "model.backbone")};
    const auto trained = [&](std::int64_t last) {
      const auto backbone =
          entry.make({make_meta(), DType::kFloat32, RandomStream(1), nn::Init::kTorch}, options, 3);
      backbone->freeze_stages(last);
      std::int64_t count = 0;
      for (const nn::NamedTensor& named : backbone->parameters())
        count += named.tensor.requires_grad();
      return count;
    };
    // (PVTv2 has no stem.)
    CHECK(trained(0) <= trained(-1));
    for (std::int64_t last = 1; last <= 4; ++last) CHECK(trained(last) < trained(last - 1));
    CHECK(trained(4) == 0);
    CHECK_THROWS_AS(trained(5), ConfigError);
  }
}

TEST_CASE("backbones: ResNets have the classifiers' parameters without the head", "[models]") {
  const Device meta = make_meta();
  const auto parameters = [&](const char* name, bool backbone) {
    const nn::Build init{meta, DType::kFloat32, RandomStream(1), nn::Init::kTorch};
    const schema::Value given = schema::Value::object({{"type", name}});
    if (!backbone) return build(given, meta, {3, 224, 224, 1000})->parameter_count();
    const models::BackboneEntry& entry = models::backbones().find(name);
    return entry.make(init, {name, entry.fields->resolve_component(given, "b")}, 3)
        ->parameter_count();
  };
  CHECK(parameters("resnet50", true) == 25557032 - 2049000);
  for (const char* name : {"resnet18", "resnet50", "resnet101"}) {
    const std::int64_t head = 1000 * (std::string(name) == "resnet18" ? 513 : 2049);
    CHECK(parameters(name, true) == parameters(name, false) - head);
  }
}

TEST_CASE("backbones: weights of the classifier go in, its head is named and left out",
          "[models]") {
  const TestFolder folder("backbone-weights");
  const auto from = network(classifier());
  const auto file = folder.path("resnet.safetensors");
  write_safetensors(file, {nn::named_tensors(*from), {}});
  const auto unet = network(unet_over(file.string()));
  const std::vector<std::string> notes = unet->load_pretrained(cpu());
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::Contains("resnet.safetensors; left out fc.bias, fc.weight, which the "
                                       "backbone does not have"));
  const auto own = nn::named_tensors(*unet);
  std::size_t compared = 0;
  for (const auto& [name, tensor] : nn::named_tensors(*from)) {
    if (name.starts_with("fc.")) continue;
    INFO(name);
    CHECK(to_doubles(own.at("encoder." + name)) == to_doubles(tensor));
    ++compared;
  }
  CHECK(compared > 20);
  // Without the key nothing is read.
  CHECK(network(unet_over(""))->load_pretrained(cpu()).empty());
}

TEST_CASE("backbones: weights that do not fit are refused", "[models]") {
  const TestFolder folder("backbone-weights");
  const auto file = folder.path("resnet.safetensors");
  const auto refused = [&](const std::map<std::string, Tensor>& tensors) {
    write_safetensors(file, {tensors, {}});
    network(unet_over(file.string()))->load_pretrained(cpu());
  };
  const auto whole = nn::named_tensors(*network(classifier()));
  auto changed = whole;
  changed.erase("layer1.0.conv1.weight");
  CHECK_THROWS_WITH(refused(changed), Catch::Contains("layer1.0.conv1.weight is missing"));
  changed = whole;
  changed["layer2.0.bn1.weight"] = random_tensor({7}, 1, DType::kFloat32);
  CHECK_THROWS_WITH(refused(changed), Catch::Contains("layer2.0.bn1.weight is (7), model has (6)"));
  changed = whole;
  changed["head.weight"] = random_tensor({7}, 1, DType::kFloat32);
  CHECK_THROWS_WITH(refused(changed), Catch::Contains("head.weight is not in the model"));
  CHECK_THROWS_AS(network(unet_over(folder.path("none").string()))->load_pretrained(cpu()),
                  FileError);
  // The meta device reads names and shapes as well: that is how a run is looked at beforehand.
  const schema::Value options = schema::parse(unet_over(file.string()), "test.json");
  const auto on_meta = build(options, make_meta(), {3, 16, 16, 5});
  CHECK_THROWS_WITH(on_meta->load_pretrained(cpu()), Catch::Contains("head.weight is not in"));
  write_safetensors(file, {whole, {}});
  CHECK(on_meta->load_pretrained(cpu()).size() == 1);
}

TEST_CASE("backbones: an unknown name is answered with the nearest one", "[models]") {
  CHECK_THROWS_WITH(network(R"({"type": "pyramid_unet", "backbone": "resnet5"})"),
                    Catch::Contains("no backbone called \"resnet5\"; did you mean \"resnet50\"?"));
}
