#include "explain/questions.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"

using namespace fovea;
using explain::Answer;
using explain::Image;
using explain::Questions;

namespace {

// Two logits: the sum of the image, and the number 1.
std::vector<double> sum_and_one(const models::Inputs& inputs) {
  const auto values = inputs.image.host_values<float>();
  const std::size_t size = values.size() / static_cast<std::size_t>(inputs.image.size(0));
  std::vector<double> logits;
  for (std::size_t k = 0; k < values.size(); k += size) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += values[k + i];
    logits.insert(logits.end(), {sum, 1.0});
  }
  return logits;
}

}  // namespace

TEST_CASE("questions: answers do not depend on the size of batches", "[explain]") {
  const Image start{1, 2, 2, {1, 2, 3, 4}};
  for (const std::int64_t batch : {1, 2, 3, 64}) {
    const Questions questions(sum_and_one, batch);
    const auto answers = questions.ask(start, 0, 5, [](std::int64_t k, Image& image) {
      for (std::int64_t i = 0; i < std::min<std::int64_t>(k, 4); ++i)
        image.values[static_cast<std::size_t>(i)] = 0;
    });
    REQUIRE(answers.size() == 5);
    const double logits[] = {10, 9, 7, 4, 0};
    for (std::size_t k = 0; k < 5; ++k) {
      CHECK(answers[k].logit == logits[k]);
      CHECK(answers[k].probability == Approx(1 / (1 + std::exp(1 - logits[k]))).epsilon(1e-12));
      CHECK(answers[k].predicted == (logits[k] >= 1 ? 0 : 1));
    }
  }
}

TEST_CASE("questions: an input that was asked about does not run again", "[explain]") {
  std::int64_t images = 0, texts = 0;
  const Questions questions(
      [&](const models::Inputs& inputs) {
        const bool text = inputs.tokens.defined();
        const std::int64_t count = (text ? inputs.tokens : inputs.image).size(0);
        (text ? texts : images) += count;
        return text ? std::vector<double>(static_cast<std::size_t>(2 * count), 0.0)
                    : sum_and_one(inputs);
      },
      2);
  const Image start{1, 1, 2, {1, 2}};
  const auto change = [](std::int64_t k, Image& image) {
    image.values[0] = static_cast<float>(k % 3);
  };
  const auto first = questions.ask(start, 0, 6, change);
  CHECK(images == 3);
  const double logits[] = {2, 3, 4, 2, 3, 4};
  for (std::size_t k = 0; k < 6; ++k) CHECK(first[k].logit == logits[k]);
  CHECK(questions.ask(start, 0, 4, change)[3].logit == 2);
  CHECK(images == 3);
  CHECK(questions.ask(start, 1, 1, change)[0].logit == 1);  // about another class
  CHECK(images == 4);
  const std::vector<std::vector<std::int64_t>> words = {{5, 7}, {5}, {5, 7}};
  CHECK(questions.ask(words, 0).size() == 3);
  CHECK(texts == 2);
}

TEST_CASE("questions: a class that is not there is refused", "[explain]") {
  const Questions questions(sum_and_one, 4);
  CHECK_THROWS_WITH(questions.ask(Image{1, 1, 1, {0}}, 2, 1, [](std::int64_t, Image&) {}),
                    Catch::Contains("class 2 of a network with 2 classes"));
  CHECK_THROWS_AS(Questions(sum_and_one, 0), ConfigError);
}

TEST_CASE("questions: texts are padded and an empty one has one valid token", "[explain]") {
  std::vector<std::int64_t> ids;
  std::vector<std::uint8_t> valid;
  const Questions questions(
      [&](const models::Inputs& inputs) {
        const auto i = inputs.tokens.host_values<std::int64_t>();
        const auto v = inputs.valid.host_values<std::uint8_t>();
        ids.assign(i.begin(), i.end());
        valid.assign(v.begin(), v.end());
        return std::vector<double>(static_cast<std::size_t>(2 * inputs.tokens.size(0)), 0.0);
      },
      8);
  const std::vector<std::vector<std::int64_t>> texts = {{5, 0, 7}, {}, {3}, {0, 0}};
  CHECK(questions.ask(texts, 1).size() == 4);
  CHECK(ids == std::vector<std::int64_t>{5, 0, 7, 0, 0, 0, 3, 0, 0, 0, 0, 0});
  CHECK(valid == std::vector<std::uint8_t>{1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0});
}
