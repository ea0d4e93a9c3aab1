#include "training/weights.h"

#include <catch2/catch.hpp>

#include <limits>

#include "base/error.h"
#include "models/model.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using training::load_weights;
using training::named_tensors;

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
  const training::LoadReport report = load_weights(to, tensors, "x");
  CHECK(report.loaded == 5);
  for (const auto& [name, tensor] : named_tensors(to)) {
    CHECK(test::to_doubles(tensor) == test::to_doubles(named_tensors(from).at(name)));
  }
}

TEST_CASE("weights: PyTorch's habits are taken: no batch counters, a wrapper's prefix",
          "[training]") {
  const schema::Choice choice = schema::find_choice(models::choices(), "resnet20", "model");
  const auto make = [&](std::uint64_t seed) {
    const nn::Build build{test::cpu(), DType::kFloat32, RandomStream(seed), nn::Init::kTorch};
    return models::make({"resnet20", choice.fields->resolve(schema::Value::object())}, build,
                        {3, 8, 8, 4});
  };
  const auto from = make(1);
  const auto to = make(2);
  std::map<std::string, Tensor> file;
  for (const auto& [name, tensor] : copies(*from)) {
    if (!name.ends_with("num_batches_tracked")) file["module." + name] = tensor;
  }
  const training::LoadReport report = load_weights(*to, file, "x");
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
                    "differ; pass --init-ignore head.* to skip");
  tensors.erase("fc1.bias");
  tensors["fc1.bais"] = test::random_tensor({8}, 1, DType::kFloat32);
  CHECK_THROWS_WITH(
      load_weights(model, tensors, "a"),
      Catch::Contains("fc1.bias is missing") &&
          Catch::Contains("fc1.bais is not in the model; did you mean \"fc1.bias\"?") &&
          Catch::Contains("--init-ignore fc1.* --init-ignore head.*"));
  for (const auto& [name, tensor] : named_tensors(model)) {
    CHECK(test::to_doubles(tensor) == test::to_doubles(before.at(name)));
  }
  const auto report = load_weights(model, tensors, "a", {{"head.*", "fc1.b*"}});
  CHECK(report.loaded == 2);
  CHECK(report.kept == std::vector<std::string>{"fc1.bias", "head.bias", "head.weight"});
  CHECK(report.unused == std::vector<std::string>{"fc1.bais"});
  tensors = copies(model);
  tensors["head.bias"] = Tensor::from(std::vector<std::int64_t>(4), {4}, test::cpu());
  CHECK_THROWS_WITH(load_weights(model, tensors, "a"), Catch::Contains("of integers"));
}

TEST_CASE("weights: a value that is not finite is refused by name", "[training]") {
  const test::ToyModel model(test::cpu(), 0, 1);
  auto tensors = copies(model);
  tensors["fc1.weight"].data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH(load_weights(model, tensors, "a"), Catch::Contains("fc1.weight holds a value"));
  CHECK_NOTHROW(load_weights(model, tensors, "a", {{"fc1.*"}}));
}

TEST_CASE("weights: patterns with stars", "[training]") {
  CHECK(training::matches("head.*", "head.weight"));
  CHECK_FALSE(training::matches("head.*", "heads.weight"));
  CHECK(training::matches("*", ""));
  CHECK(training::matches("blocks.*.attn.*", "blocks.11.attn.qkv.weight"));
  CHECK_FALSE(training::matches("blocks.*.attn", "blocks.1.attn.qkv"));
  CHECK(training::matches("*a*b", "xxaayyab"));
  CHECK_FALSE(training::matches("", "x"));
}
