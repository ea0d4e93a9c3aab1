#include "models/sequences/sampling.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/error.h"

using namespace fovea;
using models::sample_token;

namespace {

// How often each token is drawn by evenly spread numbers.
std::map<std::int64_t, double> frequencies(const std::vector<float>& logits,
                                           const models::SamplingOptions& options) {
  constexpr int kDraws = 100000;
  std::map<std::int64_t, double> found;
  for (int i = 0; i < kDraws; ++i)
    found[sample_token(logits, options, (i + 0.5) / kDraws)] += 1.0 / kDraws;
  return found;
}

}  // namespace

TEST_CASE("sampling: tokens come as often as softmax says", "[models]") {
  const std::vector<float> logits = {0, std::log(2.0f), std::log(5.0f), std::log(2.0f)};
  const auto plain = frequencies(logits, {});
  CHECK(plain.at(0) == Approx(0.1).margin(1e-4));
  CHECK(plain.at(1) == Approx(0.2).margin(1e-4));
  CHECK(plain.at(2) == Approx(0.5).margin(1e-4));
  CHECK(plain.at(3) == Approx(0.2).margin(1e-4));
  // Half the temperature squares the ratios.
  const auto cold = frequencies(logits, {.temperature = 0.5});
  CHECK(cold.at(2) / cold.at(1) == Approx(6.25).epsilon(1e-2));
}

TEST_CASE("sampling: top_k and top_p leave the most probable tokens", "[models]") {
  const std::vector<float> logits = {0, std::log(2.0f), std::log(5.0f), std::log(2.0f)};
  const auto two = frequencies(logits, {.top_k = 2});
  CHECK(two.size() == 2);
  CHECK(two.at(1) == Approx(2.0 / 7).margin(1e-4));  // of equal ones the lower id
  CHECK(frequencies(logits, {.top_k = 9}).size() == 4);
  CHECK(frequencies(logits, {.top_p = 0.45}).size() == 1);
  const auto most = frequencies(logits, {.top_p = 0.6});
  CHECK(most.size() == 2);
  CHECK(most.at(2) == Approx(5.0 / 7).margin(1e-4));
  // The share is of those that top_k leaves.
  CHECK(frequencies(logits, {.top_k = 2, .top_p = 0.7}).size() == 1);
}

TEST_CASE("sampling: at temperature 0 the most probable token is taken", "[models]") {
  CHECK(sample_token(std::vector<float>{1, 3, 3, 2}, {.temperature = 0}, 0.99) == 1);
}

TEST_CASE("sampling: what is no number is never drawn", "[models]") {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(frequencies({nan, 1, -infinity}, {}).size() == 1);
  CHECK(sample_token(std::vector<float>{0, infinity, 5}, {}, 0.999) == 1);
  CHECK_THROWS_WITH(sample_token(std::vector<float>{nan}, {}, 0.5),
                    Catch::Contains("no logit is a number"));
}

TEST_CASE("sampling: options outside their ranges are refused", "[models]") {
  const std::vector<float> logits = {1, 2};
  CHECK_THROWS_WITH(sample_token(logits, {.temperature = -1}, 0),
                    Catch::Contains("temperature: is -1"));
  CHECK_THROWS_WITH(sample_token(logits, {.top_k = -1}, 0), Catch::Contains("top_k: is -1"));
  CHECK_THROWS_WITH(sample_token(logits, {.top_p = 0}, 0), Catch::Contains("top_p: is 0"));
}
