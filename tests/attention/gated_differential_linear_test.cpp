#include "attention/gated_differential_linear.h"

#include "attention/rotary.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "schema/json/parse.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using attention::Context;

namespace {

constexpr std::int64_t kGatedDim = 12;

std::unique_ptr<attention::Attention> make(const std::string& json, std::int64_t layer = 1) {
  const schema::Value given = schema::parse(json, "test.json");
  const attention::Variant& variant = attention::variants().find(given.at("type").as_string());
  const nn::Build build{cpu(), DType::kFloat64, RandomStream(5), nn::Init::kTorch};
  return variant.make({build, kGatedDim, layer, 3},
                      {variant.name, variant.fields->resolve_component(given, "attention")});
}

Context on_grid(std::int64_t h, std::int64_t w) {
  Context context;
  context.grid_h = h;
  context.grid_w = w;
  return context;
}

std::vector<std::string> names(const nn::Module& module) {
  std::vector<std::string> all;
  for (const nn::NamedTensor& named : module.parameters()) all.push_back(named.name);
  return all;
}

const char* const kGdla = R"({"type": "gated_differential_linear", "num_heads": 3)";

}  // namespace

TEST_CASE("gdla: gradients with every option", "[attention][long]") {
  const std::string options = GENERATE(
      as<std::string>{}, R"(, "gate": "none")", R"(, "gate": "sigmoid", "pwc_groups": true)",
      R"(, "local": false)", R"(, "differential": false, "dwc_kernel": 5)");
  INFO(options);
  const auto module = make(kGdla + options + "}");
  std::vector<Tensor> inputs{random_tensor({2, 6, kGatedDim}, 3)};
  for (const nn::NamedTensor& named : module->parameters()) inputs.push_back(named.tensor);
  check_gradients([&](const auto& t) { return (*module)(t[0], on_grid(2, 3)); }, inputs);
}

TEST_CASE("gdla: parameters are those that the options need", "[attention]") {
  // gdla 2.6: C^2 (4 + 16 + 2) + C (4 + 4 k^2 + 4 + 4 + 1) + 2 C + hd.
  CHECK(make(std::string(kGdla) + "}")->parameter_count() ==
        22 * kGatedDim * kGatedDim + 51 * kGatedDim + kGatedDim / 3);
  CHECK(names(*make(std::string(kGdla) + R"(, "gate": "none", "local": false})")) ==
        std::vector<std::string>{"lambda_scale_main", "qkv.weight", "qkv.bias", "ln.weight",
                                 "out_proj.weight", "out_proj.bias"});
}

TEST_CASE("gdla: local mixing without a grid is refused, and not needed without it",
          "[attention]") {
  const Tensor x = random_tensor({1, 6, kGatedDim}, 4);
  CHECK_THROWS_WITH((*make(std::string(kGdla) + "}"))(x, {}), Catch::Contains("set local=false"));
  CHECK((*make(std::string(kGdla) + R"(, "local": false})"))(x, {}).shape() == x.shape());
}

TEST_CASE("gdla: the map is A1 - mean(lambda) A2, and made row by row", "[attention]") {
  const auto module = make(std::string(kGdla) + "}");
  const Tensor x = random_tensor({2, 6, kGatedDim}, 5);
  const auto seen = [&](attention::Probe& probe) {
    Context context = on_grid(2, 3);
    context.probe = &probe;
    (*module)(x, context);
  };
  attention::Probe all;
  seen(all);
  Tensor lambda;
  for (const nn::NamedTensor& named : module->parameters()) {
    if (named.name == "lambda_scale_main") lambda = named.tensor;
  }
  const Tensor weight = ops::reshape(ops::mean(lambda, {1}), {1, 3, 1, 1});
  const Tensor expected = ops::sub(all.all("attn1")[0], ops::mul(weight, all.all("attn2")[0]));
  CHECK(max_difference(all.all("attn")[0], expected) < 1e-14);
  attention::Probe row;
  row.only({.y = 0.6, .x = 0.5});  // the second of two rows, the middle of three columns
  seen(row);
  CHECK(row.all("attn")[0].shape() == Shape{2, 3, 1, 6});
  CHECK(max_difference(ops::slice(all.all("attn")[0], 2, 4, 1), row.all("attn")[0]) < 1e-14);
}

TEST_CASE("gdla: one map of whole heads is linear attention with norm and gate", "[attention]") {
  const attention::GdlaHeads one{3, attention::Gate::kNone, false, 1e-6};
  const Tensor t = random_tensor({1, 5, 3 * kGatedDim}, 6);
  nn::RMSNorm norm({cpu(), DType::kFloat64, RandomStream(1), nn::Init::kTorch}, kGatedDim / 3,
                   1e-5);
  const Tensor y = attention::attend_gdla(one, t, {}, norm, {});
  // Of a head the mean square is 1.
  const auto squares =
      to_doubles(ops::mean(ops::square(ops::reshape(y, {5, 3, kGatedDim / 3})), {-1}));
  for (const double value : squares) CHECK(value == Approx(1.0).epsilon(1e-2));
}

TEST_CASE("rotary positions: turned by their number, and gradients through every variant",
          "[attention]") {
  attention::Rotary rotary(10000.0, 4);
  const Tensor x = ops::ones({1, 3, 4}, DType::kFloat64, cpu());
  const std::vector<double> y = to_doubles(rotary(x, {}));
  CHECK(y[0] == 1.0);
  CHECK(y[4] == Approx(std::cos(1) - std::sin(1)));
  CHECK(y[5] == Approx(std::cos(1) + std::sin(1)));
  CHECK(y[10] == Approx(std::cos(0.02) - std::sin(0.02)));  // 10000^(-2 / 4) = 0.01
  for (const char* json :
       {R"({"type": "softmax", "num_heads": 3, "rope_base": 100})",
        R"({"type": "linear", "num_heads": 3, "rope_base": 100})",
        R"({"type": "differential", "num_heads": 3, "rope_base": 100})",
        R"({"type": "differential", "num_heads": 3, "rope_base": 100, "fused_qkv": true})",
        R"({"type": "differential", "num_heads": 3, "fused_qkv": true, "qkv_bias": true,
            "lambda_dim": "head", "lambda_depth_offset": 0})"}) {
    INFO(json);
    const auto module = make(json);
    std::vector<Tensor> inputs{random_tensor({1, 3, kGatedDim}, 7)};
    if (std::string(json).find("linear") != std::string::npos)
      inputs[0] = ops::mul(inputs[0], 0.1);  // rotated features may make the denominator small
    for (const nn::NamedTensor& named : module->parameters()) inputs.push_back(named.tensor);
    check_gradients([&](const auto& t) { return (*module)(t[0], {}); }, inputs);
  }
  CHECK_THROWS_WITH(make(R"({"type": "softmax", "num_heads": 4, "rope_base": 100})"),
                    Catch::Contains("heads of 3 channels are no pairs"));
}

TEST_CASE("differential: one projection has the same result as three", "[attention]") {
  const auto three = make(R"({"type": "differential", "num_heads": 3})");
  const auto one = make(R"({"type": "differential", "num_heads": 3, "fused_qkv": true})");
  std::map<std::string, Tensor> from;
  for (const nn::NamedTensor& named : three->parameters()) from[named.name] = named.tensor;
  for (const nn::NamedTensor& named : one->parameters()) {
    const Tensor value =
        named.name == "qkv.weight"
            ? ops::concat({from["q_proj.weight"], from["k_proj.weight"], from["v_proj.weight"]}, 0)
            : from.at(named.name);
    set_values(named.tensor, value);
  }
  const Tensor x = random_tensor({2, 5, kGatedDim}, 8);
  CHECK(max_difference((*three)(x, {}), (*one)(x, {})) < 1e-12);
}

TEST_CASE("attention: out_proj is another name of proj", "[attention]") {
  CHECK(make(R"({"type": "softmax", "num_heads": 3})")->own_name("out_proj.bias") == "proj.bias");
  CHECK(make(R"({"type": "linear", "num_heads": 3})")->own_name("out_proj.weight") ==
        "proj.weight");
}
