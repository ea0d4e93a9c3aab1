// The pyramid with recurrent layer aggregation.
#include "models/resnet/rla_backbone.h"

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tensor/safetensors.h"
#include "tests/models/network.h"
#include "tests/models/patterned.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

std::unique_ptr<models::RlaBackbone> tiny_rla() {
  models::RlaOptions options = models::rla_resnet({2, 1, 2});
  options.planes = {2, 2, 2};
  options.rla_channels = 3;
  const nn::Build build{cpu(), DType::kFloat64, RandomStream(1), nn::Init::kTorch};
  auto made = std::make_unique<models::RlaBackbone>(build, options, 2);
  set_pattern(*made);
  return made;
}

}  // namespace

TEST_CASE("RLA backbone: levels are PyTorch's, with sides that are not even", "[models]") {
  // The stages are 5 x 7, 3 x 4 and 2 x 2. The public code in PyTorch, its pooling of the hidden
  // map with ceil_mode.
  const auto backbone = tiny_rla();
  const std::vector<Tensor> levels = (*backbone)(patterned_image({1, 2, 18, 26}));
  REQUIRE(levels.size() == 3);
  CHECK(levels[0].shape() == Shape{1, 8, 5, 7});
  CHECK(levels[1].shape() == Shape{1, 8, 3, 4});
  CHECK(levels[2].shape() == Shape{1, 8, 2, 2});
  check_digest(levels[0], {2.35046026567, 0.293523127641});
  check_digest(levels[1], {17.3630778953, -0.0201926831662});
  check_digest(levels[2], {1.30863974816, 0.500529565418});
}

TEST_CASE("RLA backbone: its last level is that of the classifier's body", "[models]") {
  const auto backbone = tiny_rla();
  const Tensor image = patterned_image({2, 2, 32, 64});
  const auto end = backbone->last_maps(image, nullptr);
  CHECK(max_difference(end.x, (*backbone)(image).back()) == 0.0);
  CHECK(end.hidden.shape() == Shape{2, 3, 2, 4});
}

TEST_CASE("RLA backbone: weights of the classifier go in, its head is left out", "[models]") {
  const TestFolder folder("rla-weights");
  const auto classifier = build(options_of("rla_resnet50", {{"depths", Value::array({2, 1, 2})},
                                                            {"planes", Value::array({2, 2, 2})},
                                                            {"rla_channels", 3}}),
                                cpu(), {2, 32, 32, 5}, DType::kFloat64);
  const auto file = folder.path("rla.safetensors");
  const auto from = nn::named_tensors(*classifier);
  write_safetensors(file, {from, {}});
  const auto backbone = tiny_rla();
  const Value options = options_of("rla_resnet50", {{"weights", file.string()}});
  const auto notes = models::load_pretrained(*backbone, {"rla_resnet50", options}, cpu());
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::Contains("left out bn2.bias") && Catch::Contains("fc.weight"));
  for (const auto& [name, tensor] : nn::named_tensors(*backbone)) {
    INFO(name);
    CHECK(to_doubles(tensor) == to_doubles(from.at(name)));
  }
}

TEST_CASE("RLA backbone: gradients along random directions, batch norms in training", "[models]") {
  const auto backbone = tiny_rla();
  backbone->train(true);
  const Tensor image = patterned_image({2, 2, 18, 26});
  const auto loss = [&] {
    Tensor sum;
    for (const Tensor& level : (*backbone)(image)) {
      const Tensor part = ops::sum(ops::mul(level, random_tensor(level.shape(), 5)));
      sum = sum.defined() ? ops::add(sum, part) : part;
    }
    return sum;
  };
  autograd::backward(loss());
  const autograd::NoGrad no_grad;
  std::uint64_t seed = 100;
  for (const nn::NamedTensor& named : backbone->parameters()) {
    INFO(named.name);
    // Nothing reads the hidden map behind the last block.
    const bool unread = named.name.starts_with("stage_bns.2.1.");
    REQUIRE(named.tensor.grad().defined() == !unread);
    if (unread) continue;
    const Tensor direction = random_tensor(named.tensor.shape(), ++seed);
    const double numeric = slope(named.tensor, direction, [&] { return loss().item<double>(); });
    CHECK(inner_product(named.tensor.grad(), direction) ==
          Approx(numeric).epsilon(1e-4).margin(1e-6));
  }
}

TEST_CASE("RLA backbone: planes for every stage", "[models]") {
  models::RlaOptions options = models::rla_resnet({1, 1});
  CHECK_THROWS_WITH(
      models::RlaBackbone({make_meta(), DType::kFloat32, RandomStream(1), nn::Init::kTorch},
                          options, 3),
      Catch::Contains("model.backbone.planes: 4 numbers for the 2 stages of"));
}
