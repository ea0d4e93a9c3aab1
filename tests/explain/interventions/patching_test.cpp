#include "explain/interventions/patching.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "autograd/hooks.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/explain/interventions/small_networks.h"

using namespace fovea;
using namespace fovea::test;
using explain::Patching;
using explain::Subject;

namespace {

Patching patched(models::Model& model, const Tensor& x, const Tensor& other) {
  const Subject subject(model, x);
  return explain::patch_activations(subject, other, 1, explain::head_sites(model, {.image = x}));
}

}  // namespace

TEST_CASE("patching: an input with its own activations is itself", "[explain]") {
  for (const char* attention : {"softmax", "m_dgsa", "differential"}) {
    const auto model = small_vit(attention);
    const Tensor x = normal_images({1, 3, 8, 8}, 1);
    const Patching found = patched(*model, x, x);
    CHECK(found.clean.logit == found.other.logit);
    CHECK(std::isnan(found.effect(found.clean)));
    REQUIRE(found.layers.size() == 2);
    for (const explain::PatchedLayer& layer : found.layers) {
      CHECK(layer.attention.logit == found.clean.logit);
      REQUIRE(layer.ffn);
      CHECK(layer.ffn->logit == found.clean.logit);
      REQUIRE(layer.prefix);
      CHECK(layer.prefix->probability == found.clean.probability);
      REQUIRE(layer.heads.size() == 2);
      for (const auto& head : layer.heads) CHECK(head.logit == found.clean.logit);
    }
  }
}

TEST_CASE("patching: behind the last block the class token is all that counts", "[explain]") {
  const auto model = small_vit("softmax");
  const Tensor x = normal_images({1, 3, 8, 8}, 1), other = normal_images({1, 3, 8, 8}, 2);
  const Patching found = patched(*model, x, other);
  CHECK(found.clean.logit == Approx(logits_of_images(*model, x)[1]));
  CHECK(found.other.logit == Approx(logits_of_images(*model, other)[1]));
  CHECK(found.effect(found.clean) == 0);
  CHECK(found.effect(found.other) == 1);
  CHECK(found.layers[1].prefix->logit == found.other.logit);
  CHECK(found.layers[1].prefix->probability == found.other.probability);
  CHECK(found.effect(*found.layers[0].prefix) != Approx(1));
}

TEST_CASE("patching: a head is what its columns of the projection get", "[explain]") {
  const auto model = small_vit("softmax");
  const Tensor x = normal_images({1, 3, 8, 8}, 1), other = normal_images({1, 3, 8, 8}, 2);
  const Patching found = patched(*model, x, other);
  Tensor of_other;
  const std::string place = "blocks.0.attn.proj.input";
  const autograd::ModuleHook see = [&](const std::string& name, const Tensor& u) {
    if (name == place) of_other = u;
    return u;
  };
  {
    const autograd::HookModules hooks(see);
    logits_of_images(*model, other);
  }
  // (1, 5 tokens, 2 heads x 4)
  const autograd::ModuleHook put = [&](const std::string& name, const Tensor& u) {
    if (name != place) return u;
    return ops::concat({ops::slice(u, -1, 0, 4), ops::slice(of_other, -1, 4, 4)}, -1);
  };
  const autograd::HookModules hooks(put);
  CHECK(found.layers[0].heads[1].logit == Approx(logits_of_images(*model, x)[1]));
  CHECK(found.layers[0].heads[1].logit != Approx(found.layers[0].heads[0].logit));
}

TEST_CASE("patching: inputs of two sizes are refused", "[explain]") {
  const auto model = small_vit("softmax");
  const Tensor x = normal_images({1, 3, 8, 8}, 1);
  CHECK_THROWS_WITH(patched(*model, x, normal_images({1, 3, 8, 4}, 2)),
                    Catch::Contains("expected the same size"));
}
