#include "explain/scores/score.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "explain/scores/saco.h"
#include "tests/explain/linear_network.h"

using namespace fovea;
using explain::Better;
using explain::Explained;

namespace {

Explained everything(const explain::Questions& questions) {
  Explained e = test::explained_pixels(questions, {1, 1, 2, 1}, 2, 2, {1, -2, 4, 0.5});
  e.text = {3, 1, 2, 4};
  e.mask = {0, 0, 1, 0};
  e.explain = [](const explain::Image&) { return std::vector<double>{1, -2, 4, 1.5}; };
  e.randomised = {{4, 1, 2, 0}, {0, 1, 0, 2}};
  return e;
}

// A network of images that also says something about texts.
explain::Logits both() {
  return [image = test::linear_logits({0.5, -1, 1, 0.25})](const models::Inputs& inputs) {
    return inputs.image.defined()
               ? image(inputs)
               : std::vector<double>(static_cast<std::size_t>(2 * inputs.tokens.size(0)), 0.0);
  };
}

}  // namespace

TEST_CASE("scores: every one has help and a number where all it needs is there", "[explain]") {
  const explain::Questions questions(both(), 4);
  const Explained e = everything(questions);
  CHECK(explain::scores().size() == 24);
  for (const explain::ScoreEntry& entry : explain::scores()) {
    INFO(entry.name);
    CHECK_FALSE(entry.help.empty());
    CHECK(std::isfinite(entry.score(e, {entry.name, {}}).value));
    if (entry.rule.needs.empty()) continue;
    Explained bare;
    bare.relevance = e.relevance;
    CHECK_THROWS_WITH(entry.score(bare, {entry.name, {}}),
                      Catch::StartsWith(entry.name + ": needs "));
  }
}

TEST_CASE("scores: options are read and refused by name", "[explain]") {
  const explain::Questions questions(both(), 4);
  const Explained e = everything(questions);
  const auto& saco = explain::scores().find("saco");
  CHECK(saco.rule.better == Better::kHigher);
  const auto score = [&](const schema::Value& options) {
    return saco.score(e, {"saco", saco.fields->resolve_component(options, "saco")}).value;
  };
  const auto groups = explain::relevance_groups(e.relevance, 2);
  CHECK(
      score(schema::Value::object({{"type", "saco"}, {"groups", 2}, {"baseline", "zero"}})) ==
      explain::saco(explain::group_sums(e.relevance, groups), explain::group_drops(e, groups, {})));
  CHECK_THROWS_AS(score(schema::Value::object({{"type", "saco"}, {"group", 2}})), ConfigError);
  CHECK_THROWS_AS(explain::scores().find("sacko"), ConfigError);
}

TEST_CASE("scores: relevance must fit the units", "[explain]") {
  const explain::Questions questions(both(), 4);
  Explained e = everything(questions);
  e.relevance.pop_back();
  CHECK_THROWS_WITH(explain::scores().find("deletion").score(e, {"deletion", {}}),
                    Catch::Contains("relevance of 3 units; expected 4"));
}

TEST_CASE("scores: max_sensitivity takes the largest of its draws", "[explain]") {
  const explain::Questions questions(both(), 4);
  Explained e = everything(questions);
  int draws = 0;
  float largest = 0;
  e.explain = [&](const explain::Image& image) {
    for (std::size_t i = 0; i < 4; ++i)
      largest = std::max(largest, std::abs(image.values[i] - e.image.values[i]));
    return ++draws == 3 ? std::vector<double>{2, -4, 8, 1} : e.relevance;
  };
  CHECK(explain::scores().find("max_sensitivity").score(e, {"max_sensitivity", {}}).value ==
        Approx(1));
  CHECK(draws == 10);
  CHECK((largest > 0.1f && largest <= 0.2f));
}

TEST_CASE("scores: max_sensitivity of no relevance is not defined", "[explain]") {
  const explain::Questions questions(both(), 4);
  Explained e = everything(questions);
  e.relevance = {0, 0, 0, 0};
  const explain::ScoreEntry& entry = explain::scores().find("max_sensitivity");
  CHECK(std::isnan(entry.score(e, {entry.name, {}}).value));
}
