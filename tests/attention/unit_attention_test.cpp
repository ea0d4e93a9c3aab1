#include "attention/unit_attention.h"

#include "nn/weights.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

attention::UnitAttention made(const attention::UnitOptions& o) {
  return {{cpu(), DType::kFloat64, RandomStream(2), nn::Init::kTruncNormal}, "test", 12, o};
}

}  // namespace

TEST_CASE("unit attention: names and sizes of its parameters", "[attention]") {
  const auto names = [](const nn::Module& module) {
    std::vector<std::string> all;
    for (const nn::NamedTensor& named : module.parameters()) all.push_back(named.name);
    return all;
  };
  const auto plain = made({.num_heads = 3});
  CHECK(names(plain) ==
        std::vector<std::string>{"qkv.weight", "qkv.bias", "proj.weight", "proj.bias"});
  const auto biased = made({.num_heads = 3, .qkv_bias = false, .bias_unit = {2, 3, 3}});
  CHECK(names(biased) == std::vector<std::string>{"relative_position_bias_table", "qkv.weight",
                                                  "proj.weight", "proj.bias"});
  CHECK(biased.parameters()[0].tensor.shape() == Shape{3 * 5 * 5, 3});
  CHECK_THROWS_WITH(made({.num_heads = 5}), Catch::Contains("test: dim 12"));
}

TEST_CASE("unit attention: padding that attends is a map padded before the projection",
          "[attention]") {
  auto attn = made({.num_heads = 2, .bias_unit = {3}, .padding_attends = true});
  for (const nn::NamedTensor& named : attn.parameters()) {
    set_values(named.tensor, random_tensor(named.tensor.shape(), 7));
  }
  const Tensor x = random_tensor({2, 4, 12}, 1);
  const ops::Units padded({.grid = {4}, .unit = {3}}, cpu());
  const ops::Units whole({.grid = {6}, .unit = {3}}, cpu());
  const autograd::NoGrad no_grad;
  const Tensor expected = attn(ops::pad(x, {{0, 0}, {0, 2}, {0, 0}}), whole);
  CHECK(max_difference(attn(x, padded), ops::slice(expected, 1, 0, 4)) < 1e-13);
}

TEST_CASE("unit attention: a probe sees the maps of all units and their tokens", "[attention]") {
  auto attn = made({.num_heads = 2});
  const ops::Units units({.grid = {2, 3}, .unit = {2, 2}}, cpu());
  const Tensor x = random_tensor({1, 6, 12}, 1);
  attention::Probe probe;
  const Tensor y = attn(x, units, &probe);
  CHECK(max_difference(y, attn(x, units)) == 0.0);
  REQUIRE(probe.records().size() == 1);
  const attention::Probe::Record& record = probe.records()[0];
  CHECK(record.name == "unit_attn");
  CHECK(record.value.shape() == Shape{1, 2, 2, 4, 4});
  CHECK(record.tokens.id() == units.tokens().id());
  attention::Probe no_maps;
  no_maps.without_maps();
  attn(x, units, &no_maps);
  CHECK(no_maps.records().empty());
}
