#include "models/sequences/language_model.h"

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/shape.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

Value small_decoder(const char* attention, const Options& more = {}) {
  Value of_attention = Value::object({{"type", attention}, {"num_heads", 2}});
  Value options = options_of("language_model", {{"vocab_size", 11},
                                                {"embed_dim", 8},
                                                {"depth", 2},
                                                {"hidden_dim", 12},
                                                {"attention", of_attention}});
  for (const auto& [key, value] : more) options.set(key, value);
  return options;
}

Tensor some_tokens(std::int64_t b, std::int64_t n) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < b * n; ++i) ids.push_back((i * i + 3 * i) % 11);
  return Tensor::from(ids, {b, n}, cpu());
}

models::LanguageModel& writer(models::Model& model) {
  return dynamic_cast<models::LanguageModel&>(model);
}

// Logits behind every token, the tokens given in parts of this length.
Tensor in_parts_of(models::Model& model, const Tensor& tokens, std::int64_t length) {
  models::DecoderState state;
  std::vector<Tensor> rows;
  for (std::int64_t first = 0; first < tokens.size(1); first += length) {
    const std::int64_t n = std::min(length, tokens.size(1) - first);
    const Tensor logits = writer(model).next(ops::slice(tokens, 1, first, n), state);
    rows.push_back(ops::reshape(logits, {logits.size(0), 1, logits.size(1)}));
  }
  CHECK(state.tokens == tokens.size(1));
  return ops::concat(rows, 1);
}

}  // namespace

TEST_CASE("language model: parameters of mala 4.6", "[models]") {
  const auto count = [](bool tied) {
    const Value options =
        options_of("language_model", {{"vocab_size", 32000}, {"tie_word_embeddings", tied}});
    return build(options, make_meta(), {})->parameter_count();
  };
  CHECK(count(true) == 341099520);
  CHECK(count(false) == 373867520);
}

TEST_CASE("language model: gradients of a whole network along random directions",
          "[models][long]") {
  const char* attention = GENERATE("softmax", "linear", "mala");
  INFO(attention);
  const bool tied = std::string(attention) != "linear";
  const auto model =
      build(small_decoder(attention, {{"tie_word_embeddings", tied}}), cpu(), {}, DType::kFloat64);
  const Tensor tokens = some_tokens(2, 7);
  check_directions(*model, [&] {
    const Tensor logits = (*model)({.tokens = ops::slice(tokens, 1, 0, 6)}).logits;
    return ops::cross_entropy(logits, ops::slice(tokens, 1, 1, 6));
  });
}

TEST_CASE("language model: with a state it gives what a whole pass gives", "[models]") {
  const char* attention = GENERATE("softmax", "linear", "mala");
  INFO(attention);
  const auto model = build(small_decoder(attention), cpu(), {}, DType::kFloat64);
  const Tensor tokens = some_tokens(2, 70);
  const autograd::NoGrad no_grad;
  const Tensor whole = (*model)({.tokens = tokens}).logits;
  CHECK(whole.shape() == Shape{2, 70, 11});
  CHECK(max_difference(in_parts_of(*model, tokens, 1), whole) < 1e-11);
  // Of a longer part the last row.
  models::DecoderState state;
  writer(*model).next(ops::slice(tokens, 1, 0, 67), state);
  const Tensor last = writer(*model).next(ops::slice(tokens, 1, 67, 3), state);
  CHECK(max_difference(last, ops::reshape(ops::slice(whole, 1, 69, 1), {2, 11})) < 1e-11);
}

TEST_CASE("language model: a token changes nothing before it", "[models]") {
  for (const char* attention : {"softmax", "linear", "mala"}) {
    INFO(attention);
    const auto model = build(small_decoder(attention), cpu(), {}, DType::kFloat64);
    const Tensor tokens = some_tokens(1, 9);
    const Tensor changed = ops::concat({ops::slice(tokens, 1, 0, 6), some_tokens(1, 3)}, 1);
    const autograd::NoGrad no_grad;
    const auto head = [&](const Tensor& x) {
      return ops::slice((*model)({.tokens = x}).logits, 1, 0, 6);
    };
    CHECK(max_difference(head(tokens), head(changed)) < 1e-13);
  }
}

TEST_CASE("language model: the state of the linear forms does not grow", "[models]") {
  const auto bytes_after = [](const char* attention, std::int64_t tokens) {
    const auto model = build(small_decoder(attention), cpu(), {});
    models::DecoderState state;
    writer(*model).next(some_tokens(1, tokens), state);
    return state.bytes();
  };
  CHECK(bytes_after("mala", 5) == bytes_after("mala", 200));
  CHECK(bytes_after("linear", 5) == bytes_after("linear", 200));
  CHECK(bytes_after("softmax", 200) == 40 * bytes_after("softmax", 5));
  // Products, sums of keys and of values: 2 layers, 2 heads of 4 channels, float32.
  CHECK(bytes_after("mala", 5) == 2 * 2 * (16 + 4 + 4) * 4);
}

TEST_CASE("language model: a copy of a state goes on by itself", "[models]") {
  for (const char* attention : {"softmax", "linear", "mala"}) {
    INFO(attention);
    const auto model = build(small_decoder(attention), cpu(), {}, DType::kFloat64);
    models::DecoderState state;
    writer(*model).next(some_tokens(1, 5), state);
    models::DecoderState copy = state;
    const Tensor first = writer(*model).next(some_tokens(1, 1), state);
    writer(*model).next(some_tokens(1, 4), state);
    CHECK(max_difference(writer(*model).next(some_tokens(1, 1), copy), first) == 0);
  }
}

TEST_CASE("language model: layers computed again give the same gradients", "[models]") {
  const auto gradients = [](bool checkpointing) {
    const auto model =
        build(small_decoder("mala", {{"checkpointing", checkpointing}, {"drop_rate", 0.2}}), cpu(),
              {}, DType::kFloat64);
    model->train(true);
    model->set_random(RandomStream(5));
    const Tensor tokens = some_tokens(2, 6);
    autograd::backward(ops::cross_entropy((*model)({.tokens = tokens}).logits, tokens));
    std::vector<double> all;
    for (const nn::NamedTensor& named : model->parameters()) {
      const auto values = to_doubles(named.tensor.grad());
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  CHECK(gradients(false) == gradients(true));
}

TEST_CASE("language model: bfloat16 is near float32", "[models]") {
  const char* attention = GENERATE("softmax", "linear", "mala");
  INFO(attention);
  const auto logits = [&](std::optional<DType> activations) {
    const auto model = build(small_decoder(attention), cpu(), {}, DType::kFloat32, activations);
    const Tensor y = (*model)({.tokens = some_tokens(2, 6)}).logits;
    autograd::backward(y, ops::ones_like(y));
    for (const nn::NamedTensor& named : model->parameters()) CHECK(named.tensor.grad().defined());
    CHECK(y.dtype() == DType::kFloat32);
    models::DecoderState state;
    const Tensor next = writer(*model).next(some_tokens(2, 6), state);
    CHECK(next.dtype() == DType::kFloat32);
    return y.detach();
  };
  CHECK(max_difference(logits(DType::kBFloat16), logits(std::nullopt)) < 0.02);
}

TEST_CASE("language model: a probe sees the map of every layer", "[models]") {
  for (const char* attention : {"softmax", "linear", "mala"}) {
    INFO(attention);
    const auto model = build(small_decoder(attention), cpu(), {});
    attention::Probe probe;
    (*model)({.tokens = some_tokens(2, 5)}, &probe);
    const std::vector<Tensor> maps = probe.all("attn");
    REQUIRE(maps.size() == 2);
    CHECK(maps[0].shape() == Shape{2, 2, 5, 5});
    CHECK(to_doubles(maps[0])[1] == 0);  // the first token does not see the second
    CHECK(probe.records().front().is_signed == (std::string(attention) == "mala"));
  }
}

TEST_CASE("language model: what does not fit is refused", "[models]") {
  CHECK_THROWS_WITH(build(options_of("language_model"), make_meta(), {}),
                    Catch::Contains("model.vocab_size: not given"));
  models::DataShape data;
  data.vocab_size = 20;
  CHECK_THROWS_WITH(build(small_decoder("mala"), make_meta(), data),
                    Catch::Contains("model.vocab_size: is 11; the data set has 20 tokens"));
  CHECK_THROWS_WITH(build(small_decoder("mala", {{"embed_dim", 9}}), make_meta(), {}),
                    Catch::Contains("not divisible"));
  CHECK_THROWS_WITH(build(small_decoder("mala", {{"embed_dim", 6}}), make_meta(), {}),
                    Catch::Contains("heads of 3 channels are no pairs"));
  Value learnable = small_decoder("mala");
  learnable.set("attention",
                Value::object({{"type", "mala"}, {"num_heads", 2}, {"beta", "learnable"}}));
  CHECK_THROWS_WITH(build(learnable, make_meta(), {}),
                    Catch::Contains("beta or gamma is learnable"));
  const auto model = build(small_decoder("mala"), cpu(), {});
  CHECK_THROWS_WITH((*model)({.tokens = random_tensor({2, 3}, 1)}),
                    Catch::Contains("expected int64 (b, n)"));
  models::DecoderState state;
  CHECK_THROWS_WITH(writer(*model).next(some_tokens(2, 0), state),
                    Catch::Contains("expected (b, n) with n at least 1"));
  writer(*model).next(some_tokens(2, 3), state);
  CHECK_THROWS_WITH(writer(*model).next(some_tokens(1, 3), state), Catch::Contains("the state is"));
}
