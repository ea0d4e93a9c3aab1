// The parts of timm's vision transformers: counts, gradients, what is refused. Their values are
// compared with timm's by the golden cases of tests/fixtures/timm.
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

Value split_swiglu() {
  return Value::object({{"type", "swiglu"}, {"packed", false}, {"bias", false}});
}

Value with(Value value, const Options& options) {
  for (const auto& [key, option] : options) value.set(key, option);
  return value;
}

Value small(const Options& options) {
  return with(options_of("vit", {{"embed_dim", 8},
                                 {"depth", 2},
                                 {"patch_size", 2},
                                 {"attention", Value::object({{"num_heads", 2}})}}),
              options);
}

std::int64_t count(std::int64_t side, std::int64_t classes, std::int64_t patch, std::int64_t dim,
                   std::int64_t depth, const Options& options) {
  const Value value = with(
      options_of(
          "vit",
          {{"patch_size", patch}, {"embed_dim", dim}, {"depth", depth}, {"num_classes", classes}}),
      options);
  return build(value, make_meta(), {3, side, side, 1000})->parameter_count();
}

bool has(const models::Model& model, const std::string& name) {
  for (const nn::NamedTensor& named : model.parameters())
    if (named.name == name) return true;
  return false;
}

// All parts, four networks.
std::vector<Value> networks() {
  return {small({{"init_values", 0.3},
                 {"reg_tokens", 2},
                 {"no_embed_class", true},
                 {"attention", Value::object({{"num_heads", 2}, {"qk_norm", true}})}}),
          small({{"distilled", true},
                 {"pre_norm", true},
                 {"ffn", Value::object({{"activation", "quick_gelu"}})}}),
          small({{"class_token", false}, {"global_pool", "map"}, {"embed_norm", true}}),
          small({{"class_token", false},
                 {"global_pool", "avg"},
                 {"fc_norm", true},
                 {"norm_position", "res_post"},
                 {"ffn", split_swiglu()}})};
}

}  // namespace

TEST_CASE("timm's ViTs: parameter counts", "[models]") {
  const Value heads = Value::object({{"num_heads", 4}});
  const Value no_bias = with(heads, {{"qkv_bias", false}});
  // vit_small_patch14_reg4_dinov2
  CHECK(count(518, 0, 14, 384, 12,
              {{"init_values", 1e-5},
               {"reg_tokens", 4},
               {"no_embed_class", true},
               {"attention", heads}}) == 22057344);
  // vit_base_patch32_clip_quickgelu_224
  CHECK(count(224, 512, 32, 768, 12,
              {{"pre_norm", true},
               {"attention", heads},
               {"ffn", Value::object({{"activation", "quick_gelu"}})}}) == 87849728);
  // deit_small_distilled_patch16_224
  CHECK(count(224, 1000, 16, 384, 12, {{"distilled", true}, {"attention", heads}}) == 22436432);
  // vit_base_patch16_siglip_224
  CHECK(count(224, 0, 16, 768, 12,
              {{"class_token", false}, {"global_pool", "map"}, {"attention", heads}}) == 92884224);
  // vit_base_patch16_rpn_224
  CHECK(count(224, 1000, 16, 768, 12,
              {{"class_token", false},
               {"global_pool", "avg"},
               {"fc_norm", true},
               {"norm_position", "res_post"},
               {"attention", no_bias}}) == 86538472);
  // aimv2_large_patch14_224
  CHECK(count(224, 0, 14, 1024, 24,
              {{"class_token", false},
               {"global_pool", "avg"},
               {"norm", "rms_norm"},
               {"embed_norm", true},
               {"attention", with(no_bias, {{"proj_bias", false}})},
               {"ffn", with(split_swiglu(), {{"expansion", 5.5}})}}) == 309197824);
  // vit_intern300m_patch14_448
  CHECK(count(448, 0, 14, 1024, 24,
              {{"init_values", 0.1}, {"final_norm", false}, {"attention", heads}}) == 304012288);
}

TEST_CASE("timm's ViTs: gradients of whole networks along random directions", "[models]") {
  const Value options = networks()[GENERATE(range(0U, 4U))];
  const auto model = build(options, cpu(), {2, 4, 6, 3}, DType::kFloat64);
  const Tensor x = random_tensor({2, 2, 4, 6}, 1);
  const Tensor target = random_tensor({2, 3}, 2);
  check_directions(*model,
                   [&] { return ops::sum(ops::mul((*model)({.image = x}).logits, target)); });
}

TEST_CASE("timm's ViTs: mixed precision gives float32's logits to bfloat16's rounding",
          "[models]") {
  const Value options = networks()[GENERATE(range(0U, 4U))];
  const Tensor x = random_tensor({2, 2, 4, 6}, 1, DType::kFloat32);
  const auto logits = [&](std::optional<DType> activations) {
    const auto model = build(options, cpu(), {2, 4, 6, 3}, DType::kFloat32, activations);
    const Tensor y = (*model)({.image = x}).logits;
    autograd::backward(ops::sum(y));
    return y;
  };
  CHECK(max_difference(logits(std::nullopt), logits(DType::kBFloat16)) < 0.05);
}

TEST_CASE("timm's ViTs: register tokens are before the patches and not pooled", "[models]") {
  const auto model =
      build(small({{"class_token", false}, {"global_pool", "avg"}, {"reg_tokens", 3}}), make_meta(),
            {3, 8, 8, 4});
  const attention::Context geometry = model->geometry();
  CHECK(geometry.prefix_tokens == 3);
  CHECK_FALSE(geometry.class_token);
  CHECK(build(small({{"reg_tokens", 3}}), make_meta(), {3, 8, 8, 4})->geometry().prefix_tokens ==
        4);
}

TEST_CASE("timm's ViTs: without a head, what it would see is put out", "[models]") {
  const auto model = build(small({{"num_classes", 0}}), cpu(), {3, 8, 8, 4});
  CHECK_FALSE(model->has_head());
  CHECK_FALSE(has(*model, "head.weight"));
  const autograd::NoGrad no_grad;
  const models::Outputs out = (*model)({.image = random_tensor({2, 3, 8, 8}, 1, DType::kFloat32)});
  CHECK(out.logits.shape() == Shape{2, 8});
  CHECK(to_doubles(out.logits) == to_doubles(out.embedding));
}

TEST_CASE("timm's ViTs: parts that exclude each other are refused", "[models]") {
  const auto refuses = [](const Options& options, const std::string& message) {
    CHECK_THROWS_WITH(build(small(options), make_meta(), {3, 8, 8, 4}), Catch::Contains(message));
  };
  refuses({{"distilled", true}, {"global_pool", "avg"}}, "model.distilled: needs class_token=true");
  refuses({{"final_norm", false}, {"fc_norm", true}}, "model.fc_norm: is the final norm");
  refuses({{"init_values", 0.1}, {"norm_position", "post"}}, "is for norm_position=pre");
  refuses({{"ffn", with(split_swiglu(), {{"gate_last", true}})}}, "the gate is fc1_g");
}
