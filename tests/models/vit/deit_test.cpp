// DeiT and the attentions of the mala paper in it: sizes and costs of mala 5.1 and 5.2.
#include <fmt/format.h>

#include <cmath>

#include "models/counting.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

struct DeitCost {
  const char* attention;
  std::int64_t parameters;
  double giga_macs;  // of everything; 0 where the paper's file has none
};

Value deit(const char* attention, const Options& options = {}) {
  Value inner = options_of(attention, options);
  return options_of("deit_tiny", {{"attention", inner}});
}

double giga(std::int64_t macs) { return std::round(static_cast<double>(macs) / 1e6) / 1e3; }

}  // namespace

TEST_CASE("DeiT: parameters of the three sizes are timm's", "[models]") {
  const auto count = [](const char* type) {
    return build(options_of(type), make_meta(), {3, 224, 224, 1000})->parameter_count();
  };
  CHECK(count("deit_tiny") == 5717416);
  CHECK(count("deit_small") == 22050664);
  CHECK(count("deit_base") == 86567656);
}

TEST_CASE("DeiT-T: parameters and multiply-adds with every attention", "[models]") {
  for (const DeitCost& e :
       {DeitCost{"softmax", 5717416, 1.254}, DeitCost{"softmax_qnorm", 5717416, 1.254},
        DeitCost{"linear", 5717416, 1.133}, DeitCost{"mala", 5717416, 1.133},
        DeitCost{"hydra", 5717416, 1.075}, DeitCost{"efficient", 5717416, 0},
        DeitCost{"linear_angular", 5717740, 0}, DeitCost{"enhanced_linear", 5809576, 1.150},
        DeitCost{"focused_linear", 6193576, 1.145}, DeitCost{"inline", 7215016, 0}}) {
    INFO(e.attention);
    const Cost cost = test::cost(deit(e.attention), 224, 1000);
    CHECK(cost.parameters == e.parameters);
    if (e.giga_macs > 0) CHECK(giga(cost.macs) == Approx(e.giga_macs));
    // Table 9 has 1.1 G for every one of them, which counts modules.
    CHECK(std::round(static_cast<double>(cost.macs_paper) / 1e8) == 11);
  }
  // The public code's number of heads.
  CHECK(cost(deit("inline", {{"num_heads", 6}}), 224, 1000).parameters == 6477736);
}

TEST_CASE("DeiT-T: without the products of attention softmax and hydra cost the same", "[models]") {
  const Device meta = make_meta();
  for (const char* attention : {"softmax", "linear", "mala", "hydra", "efficient"}) {
    INFO(attention);
    const auto model = build(deit(attention), meta, {3, 224, 224, 1000});
    autograd::Profiler profiler;
    const autograd::NoGrad no_grad;
    const autograd::Profile scope(profiler);
    (*model)({.image = Tensor::empty({1, 3, 224, 224}, DType::kFloat32, meta)});
    CHECK(giga(models::module_hook_macs(profiler.events())) == Approx(1.075));
  }
}

TEST_CASE("DeiT: another attention has the network's heads and its own feed-forward network",
          "[models]") {
  const auto resolved = [](const Value& value) {
    return models::entries().find("deit_tiny").fields->resolve_component(value, "model");
  };
  CHECK(resolved(deit("linear")).at("attention").at("num_heads").as_int() == 3);
  CHECK(resolved(deit("linear", {{"num_heads", 6}})).at("attention").at("num_heads").as_int() == 6);
  const auto has = [](const Value& value, const std::string& name) {
    const auto model = build(value, make_meta(), {3, 32, 32, 10});
    for (const nn::NamedTensor& named : model->parameters()) {
      if (named.name == name) return true;
    }
    return false;
  };
  const char* const conv = "blocks.3.mlp.dwconv.dwconv.weight";
  CHECK(has(deit("enhanced_linear"), conv));
  CHECK_FALSE(has(deit("linear"), conv));
  Value plain = deit("enhanced_linear");
  plain.set("ffn", "mlp");
  CHECK_FALSE(has(plain, conv));
}

TEST_CASE("DeiT: gradients of a whole network along random directions", "[models][long]") {
  const char* attention = GENERATE("enhanced_linear", "focused_linear", "inline", "linear_angular");
  INFO(attention);
  Value options = deit(attention, {{"num_heads", 2}});
  for (const auto& [key, value] :
       Options{{"embed_dim", 8}, {"depth", 2}, {"patch_size", 2}, {"init", "torch"}})
    options.set(key, value);
  const auto model = build(options, cpu(), {2, 4, 6, 3}, DType::kFloat64);
  const Tensor x = random_tensor({2, 2, 4, 6}, 1);
  const Tensor target = random_tensor({2, 3}, 2);
  check_directions(*model,
                   [&] { return ops::sum(ops::mul((*model)({.image = x}).logits, target)); });
}
