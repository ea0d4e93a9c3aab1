// What of a network is trained: frozen parameters get no gradient, the others the same as ever.
#include "training/parameters.h"

#include <algorithm>
#include <cmath>

#include "autograd/graph.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using Patterns = std::vector<std::string>;

namespace {

// Gradients by name, of a pass in training mode without dropout.
std::map<std::string, std::vector<double>> gradients_of(models::Model& model) {
  model.train(true);
  model.set_random(RandomStream(1));
  const Tensor x = random_tensor({2, 3, 32, 32}, 7);
  const Tensor logits = model({.image = x}).logits;
  autograd::backward(ops::sum(ops::mul(logits, random_tensor(logits.shape(), 8))));
  std::map<std::string, std::vector<double>> gradients;
  for (const nn::NamedTensor& named : model.parameters()) {
    if (named.tensor.grad().defined()) gradients[named.name] = to_doubles(named.tensor.grad());
  }
  return gradients;
}

}  // namespace

TEST_CASE("freezing: what is trained has the gradients that it had", "[training]") {
  const std::string options = GENERATE(
      R"({"type": "vit", "patch_size": 8, "embed_dim": 16, "depth": 2, "attention": {"num_heads": 2}})",
      R"({"type": "dgvit", "patch_size": 8, "embed_dim": 16, "depth": 2,
          "attention": {"num_heads": 2}})",
      R"({"type": "swin_t", "patch_size": 2, "window_size": 4, "embed_dim": 8, "depths": [2, 2],
          "num_heads": [1, 2]})",
      R"({"type": "resnet20"})",
      R"({"type": "pvt_v2_b0", "embed_dims": [8, 8, 16, 16], "num_heads": [1, 1, 2, 2],
          "depths": [1, 2, 1, 1]})",
      R"({"type": "mavit_t", "embed_dims": [8, 8, 16, 16], "num_heads": [1, 1, 2, 2],
          "depths": [1, 2, 1, 1]})");
  const auto patterns = GENERATE(
      values<Patterns>({{"*.weight"}, {"*.bias"}, {"*", "!*.1.*"}, {"*", "!*n*1.weight"}}));
  CAPTURE(options, patterns.back());
  const auto make = [&] {
    auto model = build(schema::parse(options, "test"), cpu(), {3, 32, 32, 5}, DType::kFloat64);
    // Batch norms of modules that are frozen as a whole have other statistics, and no dropout.
    model->visit([](const std::string&, nn::Module& module) { module.keep_evaluating(); });
    return model;
  };
  const auto whole = make(), part = make();
  const auto all = gradients_of(*whole);
  training::freeze(*part, patterns);
  const auto left = gradients_of(*part);
  CHECK(left.size() > 0);
  CHECK(left.size() < all.size());
  for (const nn::NamedTensor& named : part->parameters())
    CHECK(left.contains(named.name) == (named.tensor.requires_grad() && all.contains(named.name)));
  for (const auto& [name, gradient] : left) {
    INFO(name);
    const std::vector<double>& expected = all.at(name);
    double worst = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i)
      worst = std::max(worst, std::abs(gradient[i] - expected[i]) / (1e-3 + std::abs(expected[i])));
    CHECK(worst <= 1e-9);
  }
}

TEST_CASE("freezing: the last pattern decides, and what is frozen as a whole evaluates",
          "[training]") {
  const auto model = build(options_of("resnet20"), cpu(), {3, 32, 32, 5}, DType::kFloat64);
  training::freeze(*model, {"*", "!layer3.1.*", "!fc.*", "*.bn2.bias"});
  for (const nn::NamedTensor& named : model->parameters()) {
    const bool trained =
        (named.name.starts_with("layer3.1.") && named.name != "layer3.1.bn2.bias") ||
        named.name.starts_with("fc.");
    INFO(named.name);
    CHECK(named.tensor.requires_grad() == trained);
  }
  gradients_of(*model);
  for (const nn::NamedTensor& named : model->buffers()) {
    if (!named.name.ends_with("num_batches_tracked")) continue;
    INFO(named.name);
    CHECK(to_doubles(named.tensor)[0] == (named.name.starts_with("layer3.1.") ? 1 : 0));
  }
  CHECK(training::frozen_text(*model, {"*"}).starts_with("train.freeze: "));
}

TEST_CASE("freezing: patterns that freeze nothing or everything are refused", "[training]") {
  const auto model = build(options_of("resnet20"), make_meta(), {3, 32, 32, 5});
  CHECK_NOTHROW(training::freeze(*model, {}));
  CHECK_THROWS_WITH(training::freeze(*model, {"layr1.*"}),
                    Catch::Contains("train.freeze: \"layr1.*\" matches none of the") &&
                        Catch::Contains("did you mean \"layer1.*\"?"));
  CHECK_THROWS_WITH(training::freeze(*model, {"*", "!head.*"}), Catch::Contains("\"head.*\""));
  CHECK_THROWS_WITH(training::freeze(*model, {"*"}), Catch::Contains("leaves nothing to train"));
}
