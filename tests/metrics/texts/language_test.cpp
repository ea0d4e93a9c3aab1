#include "metrics/texts/language.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace fovea::metrics;

TEST_CASE("language: a model that knows nothing needs eight bits a byte", "[metrics]") {
  LanguageScore score;
  score.add(300 * std::log(256.0), 300, 300);
  const auto measured = score.measure();
  CHECK(value_of(measured, "loss") == Approx(std::log(256.0)));
  CHECK(value_of(measured, "perplexity") == Approx(256));
  CHECK(value_of(measured, "bits_per_byte") == Approx(8));
  CHECK(infos_of(measured) == language_metrics());
}

TEST_CASE("language: means are over tokens and over bytes, not over samples", "[metrics]") {
  LanguageScore score;
  score.add(2, 1, 10);
  score.add(1, 5, 2);
  CHECK(value_of(score.measure(), "loss") == Approx(0.5));
  CHECK(value_of(score.measure(), "perplexity") == Approx(std::exp(0.5)));
  CHECK(value_of(score.measure(), "bits_per_byte") == Approx(3 / std::log(2.0) / 12));
  CHECK(score.tokens() == 6);
  CHECK(score.bytes() == 12);
  CHECK_FALSE(kPerplexity.larger_is_better);
  CHECK_FALSE(kBitsPerByte.larger_is_better);
}

TEST_CASE("language: without a token there is no score", "[metrics]") {
  for (const Measurement& metric : LanguageScore{}.measure()) CHECK(std::isnan(metric.value));
}
