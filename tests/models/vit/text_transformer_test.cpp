#include <cmath>

#include "attention/attention.h"
#include "autograd/graph.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "tensor/host.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

std::int64_t count(const char* type, std::int64_t depth, const Value& ffn, std::int64_t vocab,
                   std::int64_t classes) {
  const Value options = Value::object({{"type", type}, {"depth", depth}, {"ffn", ffn}});
  models::DataShape data;
  data.num_classes = classes;
  data.vocab_size = vocab;
  data.max_len = 256;
  return build(options, make_meta(), data)->parameter_count();
}

Value swiglu(double expansion) {
  return Value::object({{"type", "swiglu"}, {"expansion", expansion}});
}

Value small(const char* type) {
  return Value::object({{"type", type},
                        {"embed_dim", 8},
                        {"depth", 2},
                        {"drop_rate", 0},
                        {"vocab_size", 11},
                        {"max_len", 7},
                        {"num_classes", 3},
                        {"attention", Value::object({{"num_heads", 2}})}});
}

Tensor ids(const std::vector<std::vector<std::int64_t>>& texts, std::int64_t n) {
  std::vector<std::int64_t> values;
  for (const auto& text : texts) {
    values.insert(values.end(), text.begin(), text.end());
    values.insert(values.end(), static_cast<std::size_t>(n) - text.size(), 0);
  }
  return Tensor::from(values, {static_cast<std::int64_t>(texts.size()), n}, cpu());
}

}  // namespace

TEST_CASE("text transformers: parameter counts of dgsa section 4.3", "[models]") {
  const std::int64_t v = 7690;
  const std::int64_t words = 256 * v;
  const double third = 16.0 / 3.0;
  CHECK(count("dgt", 4, swiglu(2), v, 2) == 3820194);
  CHECK(count("dgt", 4, swiglu(4), v, 2) == 4608674);
  CHECK(count("dgt", 4, swiglu(third), v, 2) == 5132274);
  CHECK(count("dgt", 6, swiglu(third), v, 2) == words + 4744938);
  CHECK(count("dgt", 6, swiglu(2), v, 4) == words + 2777332);
  CHECK(count("dgt", 4, swiglu(4), v, 20) == words + 2644660);
  CHECK(count("diff_transformer", 4, swiglu(2), v, 2) == words + 1843586);
  CHECK(count("diff_transformer", 6, swiglu(third), v, 20) == words + 4737612);
  CHECK(count("transformer", 4, swiglu(2), v, 2) == words + 1847298);
  const Value relu = Value::object({{"type", "mlp"}, {"expansion", 4}});
  CHECK(count("transformer", 4, relu, v, 2) == words + 3160066);
  CHECK(count("transformer", 6, relu, v, 4) == words + 4740100);
}

TEST_CASE("text transformers: gradients of a whole network along random directions",
          "[models][long]") {
  const char* type = GENERATE("transformer", "diff_transformer", "dgt");
  const char* pool = GENERATE("avg", "token");
  Value options = small(type);
  options.set("global_pool", pool);
  options.set("pos_embed", std::string(pool) == "token" ? "learned" : "sinusoidal");
  const auto model = build(options, cpu(), {}, DType::kFloat64);
  const Tensor x = ids({{4, 2, 9, 4, 5}, {1, 7}}, 6);
  const Tensor labels = Tensor::from<std::int64_t>({2, 0}, {2}, cpu());
  INFO(type << " " << pool);
  check_directions(*model,
                   [&] { return ops::cross_entropy((*model)({.tokens = x}).logits, labels); });
  for (const nn::NamedTensor& named : model->parameters()) {
    if (named.name != "embed.weight") continue;
    for (std::size_t i = 0; i < 8; ++i) {  // the row of padding
      CHECK(to_doubles(named.tensor)[i] == 0);
      CHECK(to_doubles(named.tensor.grad())[i] == 0);
    }
  }
}

TEST_CASE("text transformers: padding and the other texts of a batch change nothing", "[models]") {
  for (const char* type : {"transformer", "diff_transformer", "dgt"}) {
    for (const char* pool : {"avg", "token"}) {
      INFO(type << " " << pool);
      Value options = small(type);
      options.set("global_pool", pool);
      const auto model = build(options, cpu(), {}, DType::kFloat64);
      const autograd::NoGrad no_grad;
      const Tensor batch =
          (*model)({.tokens = ids({{4, 2, 9}, {1, 7, 8, 3, 5, 6}, {10}}, 7)}).logits;
      CHECK(max_difference(batch.rows(0, 1), (*model)({.tokens = ids({{4, 2, 9}}, 3)}).logits) <
            1e-13);
      CHECK(max_difference(batch.rows(2, 3), (*model)({.tokens = ids({{10}}, 1)}).logits) < 1e-13);
      CHECK(max_difference(batch.rows(2, 3), (*model)({.tokens = ids({{10}}, 5)}).logits) < 1e-13);
    }
  }
}

TEST_CASE("text transformers: padding changes nothing with any attention that honours the mask",
          "[models]") {
  for (const attention::Variant& variant : attention::variants()) {
    if (!variant.info.masks) continue;
    for (const char* pool : {"avg", "token"}) {
      INFO(variant.name << " " << pool);
      Value attention = Value::object({{"type", variant.name}, {"num_heads", 2}});
      if (variant.fields->find("local") != nullptr) attention.set("local", false);  // needs a grid
      Value options = small("transformer");
      options.set("attention", attention);
      options.set("global_pool", pool);
      const auto model = build(options, cpu(), {}, DType::kFloat64);
      const autograd::NoGrad no_grad;
      const Tensor batch =
          (*model)({.tokens = ids({{4, 2, 9}, {1, 7, 8, 3, 5, 6}, {10}, {}}, 7)}).logits;
      CHECK(max_difference(batch.rows(0, 1), (*model)({.tokens = ids({{4, 2, 9}}, 3)}).logits) <
            1e-12);
      CHECK(max_difference(batch.rows(2, 3), (*model)({.tokens = ids({{10}}, 1)}).logits) < 1e-12);
      for (const double value : to_doubles(batch)) CHECK(std::isfinite(value));
    }
  }
}

TEST_CASE("text transformers: gradients with padding and a text of nothing else", "[models]") {
  for (const attention::Variant& variant : attention::variants()) {
    if (!variant.info.masks) continue;
    INFO(variant.name);
    Value attention = Value::object({{"type", variant.name}, {"num_heads", 2}});
    if (variant.fields->find("local") != nullptr) attention.set("local", false);
    Value options = small("transformer");
    options.set("depth", 1);
    options.set("attention", attention);
    const auto model = build(options, cpu(), {}, DType::kFloat64);
    const Tensor x = ids({{4, 2, 9, 4, 5}, {1, 7}, {}}, 6);
    const Tensor labels = Tensor::from<std::int64_t>({2, 0, 1}, {3}, cpu());
    check_directions(*model,
                     [&] { return ops::cross_entropy((*model)({.tokens = x}).logits, labels); });
  }
}

TEST_CASE("text transformers: an attention without the padding mask is refused", "[models]") {
  Value options = small("transformer");
  options.set("attention", Value::object({{"type", "inline"}, {"num_heads", 2}}));
  CHECK_THROWS_WITH(build(options, cpu(), {}),
                    Catch::Contains("model.attention: inline does not honour the padding mask"));
}

TEST_CASE("text transformers: bfloat16 is near float32", "[models]") {
  const char* type = GENERATE("transformer", "diff_transformer", "dgt");
  const char* pool = GENERATE("avg", "token");
  INFO(type << " " << pool);
  Value options = small(type);
  options.set("global_pool", pool);
  const schema::Choice choice =
      schema::find_choice(models::entries().choices(), options.at("type"), "model");
  const schema::Component component{choice.name,
                                    choice.fields->resolve_component(options, "model")};
  const auto logits = [&](std::optional<DType> activations) {
    const auto model = models::make_model(
        component, {.device = cpu(), .random = RandomStream(3), .activations = activations}, {});
    const Tensor y = (*model)({.tokens = ids({{4, 2, 9}, {1, 7, 8, 3, 5, 6}}, 6)}).logits;
    autograd::backward(y, ops::ones_like(y));
    for (const nn::NamedTensor& named : model->parameters()) CHECK(named.tensor.grad().defined());
    CHECK(y.dtype() == DType::kFloat32);
    return y.detach();
  };
  CHECK(max_difference(logits(DType::kBFloat16), logits(std::nullopt)) < 0.05);
}

TEST_CASE("text transformers: tokens out of range are refused where the host sees them",
          "[models][host]") {
  const auto model = build(small("dgt"), cpu(), {});
  CHECK_THROWS_WITH((*model)({.tokens = ids({{4, 11}}, 2)}).logits,
                    Catch::Contains("index 11 is outside [0, 11)"));
}

TEST_CASE("text transformers: what does not fit is refused", "[models]") {
  Value options = small("dgt");
  const auto model = build(options, cpu(), {});
  CHECK_THROWS_WITH((*model)({.tokens = ids({{4, 2}}, 8)}).logits,
                    Catch::Contains("n at most 7 (model.max_len)"));
  CHECK_THROWS_WITH((*model)({.tokens = random_tensor({2, 3}, 1)}),
                    Catch::Contains("expected int64"));
  options.set("vocab_size", Value());
  CHECK_THROWS_WITH(build(options, cpu(), {}), Catch::Contains("model.vocab_size: not given"));
}

TEST_CASE("text transformers: a mask says which tokens count, otherwise ids other than 0 do",
          "[models]") {
  const auto model = build(small("transformer"), cpu(), {});
  const auto logits = [&](const std::vector<std::int64_t>& text,
                          const std::vector<std::uint8_t>& valid) {
    const std::int64_t n = std::ssize(text);
    models::Inputs in{.tokens = Tensor::from(text, {1, n}, cpu())};
    if (!valid.empty()) in.valid = Tensor::from(valid, {1, std::ssize(valid)}, cpu());
    return host_doubles((*model)(in).logits);
  };
  CHECK(logits({5, 3, 0, 0}, {1, 1, 0, 0}) == logits({5, 3, 0, 0}, {}));
  CHECK(logits({5, 3, 9, 2}, {1, 1, 0, 0}) == logits({5, 3, 0, 0}, {}));
  // One token of padding that counts is a text.
  CHECK(logits({0, 0}, {1, 0}) == logits({0, 7}, {1, 0}));
  CHECK(logits({0, 0}, {1, 0}) != logits({0, 0}, {1, 1}));
  CHECK_THROWS_WITH(logits({5, 3}, {1, 1, 1}), Catch::Contains("the mask of valid tokens"));
}
