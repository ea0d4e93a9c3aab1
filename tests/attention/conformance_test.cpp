// What every attention of the registry must do. New variants are covered without a change here.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "attention/attention.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using attention::Context;

namespace {

constexpr std::int64_t kDim = 16;
constexpr std::int64_t kTokens = 5;  // a class token and a 2 x 2 grid

struct Fixture {
  const attention::Variant& variant;
  std::unique_ptr<attention::Attention> module;
};

Fixture make(const attention::Variant& variant, DType dtype = DType::kFloat64,
             std::optional<DType> activations = std::nullopt) {
  schema::Value options = schema::Value::object({{"type", variant.name}, {"num_heads", 2}});
  // What linear attentions add to their denominators keeps rows from summing to one.
  if (variant.fields->find("eps") != nullptr) options.set("eps", 1e-15);
  const schema::Component component{variant.name,
                                    variant.fields->resolve_component(options, "attention")};
  const nn::Build build{cpu(), dtype, RandomStream(11), nn::Init::kTorch, activations};
  return {variant, variant.make({build, kDim, 2, 4, {1, 2, 2}}, component)};
}

Context context() {
  Context c;
  c.prefix_tokens = 1;
  c.grid_h = c.grid_w = 2;
  return c;
}

Tensor mask_without_last(std::int64_t b) {
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(b * kTokens), 1);
  for (std::int64_t i = 0; i < b; ++i) bits[static_cast<std::size_t>((i + 1) * kTokens - 1)] = 0;
  return Tensor::from(bits, {b, kTokens}, cpu());
}

}  // namespace

TEST_CASE("every attention: gradients of the input and all parameters", "[attention][long]") {
  for (const attention::Variant& variant : attention::variants()) {
    INFO(variant.name);
    Fixture f = make(variant);
    std::vector<Tensor> inputs{random_tensor({2, kTokens, kDim}, 3)};
    for (const nn::NamedTensor& named : f.module->parameters()) inputs.push_back(named.tensor);
    check_gradients([&](const auto& t) { return (*f.module)(t[0], context()); }, inputs);
  }
}

TEST_CASE("every attention: a probe changes nothing and sees a map of its kind", "[attention]") {
  for (const attention::Variant& variant : attention::variants()) {
    INFO(variant.name);
    Fixture f = make(variant);
    const Tensor x = random_tensor({2, kTokens, kDim}, 4);
    attention::Probe probe;
    Context probed = context();
    probed.probe = &probe;
    CHECK(max_difference((*f.module)(x, context()), (*f.module)(x, probed)) == 0.0);
    const auto maps = probe.all("attn");
    for (const attention::Probe::Record& record : probe.records()) {
      if (record.name != "attn") continue;
      CHECK(record.is_signed == (variant.info.map == attention::MapKind::kSigned));
    }
    if (variant.info.map == attention::MapKind::kNone) continue;
    REQUIRE(maps.size() == 1);
    // As many heads as asked for, or so many at each of several scales.
    CHECK(maps[0].size(1) % 2 == 0);
    CHECK(maps[0].shape() == Shape{2, maps[0].size(1), kTokens, kTokens});
    if (variant.info.map != attention::MapKind::kStochastic) continue;
    for (const double entry : to_doubles(maps[0])) CHECK(entry >= 0);
    // A row whose features are all 0 stays 0.
    for (const double sum : to_doubles(ops::sum(maps[0], {-1})))
      CHECK((sum == 0 || sum == Approx(1.0).epsilon(1e-6)));
  }
}

TEST_CASE("every attention that masks: masked tokens change no valid output", "[attention]") {
  for (const attention::Variant& variant : attention::variants()) {
    if (!variant.info.masks) continue;
    INFO(variant.name);
    Fixture f = make(variant);
    const Tensor x = random_tensor({2, kTokens, kDim}, 5);
    const Tensor changed = ops::clone(x);
    edit<double>(changed, [](auto values) {
      for (double& value : values.subspan((kTokens - 1) * kDim, kDim)) value += 3;
    });
    Context masked = context();
    masked.key_mask = mask_without_last(2);
    const auto valid = [&](const Tensor& t) {
      return ops::slice((*f.module)(t, masked), 1, 0, kTokens - 1);
    };
    CHECK(max_difference(valid(x), valid(changed)) == 0.0);
  }
}

TEST_CASE("every attention without places: permuting tokens permutes outputs", "[attention]") {
  for (const attention::Variant& variant : attention::variants()) {
    if (variant.info.needs_grid || variant.info.ordered) continue;
    INFO(variant.name);
    Fixture f = make(variant);
    const Tensor x = random_tensor({1, kTokens, kDim}, 6);
    const Tensor straight = ops::flip((*f.module)(x, context()), 1);
    CHECK(max_difference(straight, (*f.module)(ops::flip(x, 1), context())) < 1e-12);
  }
}

TEST_CASE("every attention: mixed precision gives nearly the same, gradients too",
          "[attention][long]") {
  for (const attention::Variant& variant : attention::variants()) {
    INFO(variant.name);
    const auto results = [&](DType activations) {
      Fixture f = make(variant, DType::kFloat32, activations);
      f.module->train(true);
      const Tensor x = trainable(ops::cast(random_tensor({2, kTokens, kDim}, 8), activations));
      const Tensor y = (*f.module)(x, context());
      CHECK(y.dtype() == activations);
      autograd::backward(y, ops::cast(random_tensor(y.shape(), 9), activations));
      return std::vector<Tensor>{y, x.grad(), f.module->parameters().back().tensor.grad()};
    };
    const auto mixed = results(DType::kBFloat16);
    const auto full = results(DType::kFloat32);
    for (std::size_t i = 0; i < full.size(); ++i) {
      double largest = 1;
      for (const double value : to_doubles(full[i])) largest = std::max(largest, std::abs(value));
      // Differences of two maps lose most: a twentieth in m_dgsa.
      CHECK(max_difference(ops::cast(mixed[i], DType::kFloat32), full[i]) < 0.1 * largest);
    }
  }
}

TEST_CASE("every attention: items of a batch do not see each other", "[attention]") {
  for (const attention::Variant& variant : attention::variants()) {
    INFO(variant.name);
    Fixture f = make(variant);
    const Tensor x = random_tensor({3, kTokens, kDim}, 7);
    const Tensor alone = (*f.module)(ops::slice(x, 0, 1, 1), context());
    CHECK(max_difference(ops::slice((*f.module)(x, context()), 0, 1, 1), alone) < 1e-12);
  }
}

TEST_CASE("registry: names are unique, unknown ones are answered with the nearest", "[attention]") {
  std::set<std::string> names;
  for (const attention::Variant& variant : attention::variants()) {
    CHECK(names.insert(variant.name).second);
    CHECK_FALSE(variant.info.source.empty());
  }
  CHECK_THROWS_WITH(attention::variants().find("mdgsa"),
                    Catch::Contains("did you mean \"m_dgsa\"?"));
}

TEST_CASE("num_heads that do not divide the width are refused with those that do", "[attention]") {
  CHECK_THROWS_WITH(
      attention::check_heads("m_dgsa", 24, 5, 2),
      Catch::Contains(
          "dim 24 is not divisible by 2 x num_heads (2 x 5); num_heads may be 1, 2, 3, 4, 6, 12"));
}

TEST_CASE("m_dgsa: rows of the map sum to 2 g - 1; layouts agree after permuting channels",
          "[attention]") {
  Fixture f = make(attention::variants().find("m_dgsa"));
  attention::Probe probe;
  Context probed = context();
  probed.probe = &probe;
  (*f.module)(random_tensor({1, kTokens, kDim}, 8), probed);
  const auto rows = to_doubles(ops::sum(probe.all("attn")[0], {-1}));            // (1, h, n)
  const auto gates = to_doubles(ops::permute(probe.all("gate")[0], {0, 2, 1}));  // (1, h, n)
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(rows[i] == Approx(2 * gates[i] - 1).margin(1e-12));
}

TEST_CASE("differential: rows of the map sum to 1 - lambda", "[attention]") {
  Fixture f = make(attention::variants().find("differential"));
  attention::Probe probe;
  Context probed = context();
  probed.probe = &probe;
  (*f.module)(random_tensor({1, kTokens, kDim}, 9), probed);
  const double lambda = probe.all("lam")[0].item<double>();
  for (const double sum : to_doubles(ops::sum(probe.all("attn")[0], {-1})))
    CHECK(sum == Approx(1 - lambda).margin(1e-12));
}

TEST_CASE("every attention with values: its result is its map times them", "[attention]") {
  std::set<std::string> without;
  for (const attention::Variant& variant : attention::variants()) {
    INFO(variant.name);
    const Fixture f = make(variant);
    attention::Probe probe;
    probe.with_values();
    Context c = context();
    c.probe = &probe;
    const Tensor x = random_tensor({2, kTokens, kDim}, 3);
    const Tensor plain = (*f.module)(x, context()), probed = (*f.module)(x, c);
    CHECK(max_difference(plain, probed) < 1e-12);
    if (probe.attended().empty()) {
      without.insert(variant.name);
      continue;
    }
    const attention::Probe::Attended& one = probe.attended().front();
    // Channels of this one have weights of their own, of which its map is the mean.
    if (variant.name == "gated_differential_linear") continue;
    const Tensor u = ops::merge_heads(ops::matmul(probe.all("attn").front(), one.values));
    CHECK(max_difference(u, one.result) < 1e-9);
  }
  CHECK(without == std::set<std::string>{"hydra", "linear_angular"});
}
