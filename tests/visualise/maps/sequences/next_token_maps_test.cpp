// What a language model says next, its maps, and what a token that is left out changes.
#include "visualise/maps/sequences/next_token_maps.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "autograd/mode.h"
#include "base/error.h"
#include "tensor/host.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using namespace fovea::visualise;
using schema::Value;

namespace {

constexpr std::int64_t kVocabulary = 7;

// Without rotary positions, with which rows of MALA sum to other numbers than 1 (mala 10.1).
std::unique_ptr<models::Model> decoder(const char* attention) {
  models::DataShape data;
  data.vocab_size = kVocabulary;
  return build(
      options_of(
          "language_model",
          {{"embed_dim", 8},
           {"depth", 2},
           {"hidden_dim", 8},
           {"attention",
            Value::object({{"type", attention}, {"num_heads", 2}, {"rope_base", nullptr}})}}),
      cpu(), data);
}

// ln p of every token behind a text.
std::vector<double> log_probabilities(models::Model& network,
                                      const std::vector<std::int64_t>& text) {
  const autograd::NoGrad no_grad;
  const Tensor tokens = Tensor::from(text, {1, std::ssize(text)}, cpu());
  const std::vector<double> logits = host_doubles(network({.tokens = tokens}).logits);
  const double* const last = logits.data() + (std::ssize(text) - 1) * kVocabulary;
  double sum = 0;
  for (std::int64_t v = 0; v < kVocabulary; ++v) sum += std::exp(last[v]);
  std::vector<double> all;
  for (std::int64_t v = 0; v < kVocabulary; ++v) all.push_back(last[v] - std::log(sum));
  return all;
}

}  // namespace

TEST_CASE("next token: maps are lower triangles whose rows sum to 1, and rollouts too",
          "[visualise]") {
  const char* attention = GENERATE("softmax", "linear", "mala");
  INFO(attention);
  const auto network = decoder(attention);
  auto& language = dynamic_cast<models::LanguageModel&>(*network);
  const std::vector<std::int64_t> text{1, 5, 2, 2, 6};
  const ReadText read = read_text(language, text, kVocabulary);
  REQUIRE(read.layers.size() == 2);
  for (const AttentionMap& map : read.layers) {
    CHECK(map.heads == 2);
    REQUIRE(map.n == 5);
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t row = 0; row < 5; ++row) {
        double sum = 0;
        for (std::int64_t key = 0; key < 5; ++key) {
          const double weight = map.values[static_cast<std::size_t>((head * 5 + row) * 5 + key)];
          if (key > row) CHECK(weight == 0);
          sum += weight;
        }
        CHECK(sum == Approx(1).epsilon(1e-3));
      }
    }
  }
  const Matrix rollout = attention_rollout(read.layers, {});
  CHECK(rollout.at(0, 0) == Approx(1));
  CHECK(rollout.at(1, 4) == 0);
  // A text's beginning looks as it does alone.
  const ReadText beginning = read_text(language, {1, 5, 2}, kVocabulary);
  const Matrix alone = attention_rollout(beginning.layers, {});
  for (std::int64_t key = 0; key < 3; ++key)
    CHECK(alone.at(2, key) == Approx(rollout.at(2, key)).margin(1e-6));
}

TEST_CASE("next token: the most probable of the known ones, and what a missing token changes",
          "[visualise]") {
  const auto network = decoder("mala");
  auto& language = dynamic_cast<models::LanguageModel&>(*network);
  const std::vector<std::int64_t> text{3, 1, 4};
  const std::vector<double> whole = log_probabilities(*network, text);
  const ReadText read = read_text(language, text, kVocabulary);
  REQUIRE(read.next.size() == 3);
  for (std::int64_t v = 0; v < kVocabulary; ++v)
    CHECK(whole[static_cast<std::size_t>(v)] <= std::log(read.next[2].probability) + 1e-6);
  for (const NextToken& next : read_text(language, text, 2).next) CHECK(next.token < 2);
  const std::vector<double> change = erasure(language, text, 5);
  REQUIRE(change.size() == 3);
  CHECK(change[0] == Approx(whole[5] - log_probabilities(*network, {1, 4})[5]).margin(1e-5));
  CHECK(change[1] == Approx(whole[5] - log_probabilities(*network, {3, 4})[5]).margin(1e-5));
  CHECK(change[2] == Approx(whole[5] - log_probabilities(*network, {3, 1})[5]).margin(1e-5));
  CHECK(erasure(language, {3}, 5) == std::vector<double>{0});
  CHECK_THROWS_WITH(read_text(language, {}, kVocabulary),
                    "text: is empty; expected at least one token");
  // More texts than go through the network at once.
  const std::vector<std::int64_t> longer(40, 2);
  CHECK(erasure(language, longer, 1).size() == 40);
}
