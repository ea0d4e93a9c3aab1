// Scores that remove units, of a linear network in closed form.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "explain/scores/curves.h"
#include "explain/scores/order.h"
#include "explain/scores/perturbation.h"
#include "explain/scores/road.h"
#include "explain/scores/saco.h"
#include "explain/scores/violation.h"
#include "metrics/statistics.h"
#include "tensor/random.h"
#include "tests/explain/linear_network.h"

using namespace fovea;
using explain::Explained;
using explain::Questions;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const std::vector<double> kWeights = {0.5, -1, 2, 0.25, -0.5, 1.5};
const std::vector<float> kPixels = {1, 1, 1, 2, 1, 1};
const std::vector<double> kEffects = {0.5, -1, 2, 0.5, -0.5, 1.5};  // of each pixel on the logit

Explained explained(const Questions& questions, std::vector<double> relevance = kEffects) {
  return test::explained_pixels(questions, kPixels, 2, 3, std::move(relevance));
}

}  // namespace

TEST_CASE("order: equal values go by index, NaN is refused", "[explain]") {
  const std::vector<double> r = {1, 3, 1, 3, -2};
  CHECK(explain::descending(r) == std::vector<std::int64_t>{1, 3, 0, 2, 4});
  CHECK(explain::ascending(r) == std::vector<std::int64_t>{4, 0, 2, 1, 3});
  const std::vector<double> bad = {1, std::numeric_limits<double>::quiet_NaN()};
  CHECK_THROWS_WITH(explain::descending(bad), Catch::Contains("relevance of unit 1 is NaN"));
}

TEST_CASE("deletion and insertion: the logit of a linear network in closed form", "[explain]") {
  const Questions questions(test::linear_logits(kWeights, 1), 4);
  const Explained e = explained(questions);
  explain::CurveOptions options;
  options.watch = explain::Watch::kLogit;
  options.step = 1;
  // Sum 3 + 1; in the order 2, 1.5, 0.5, 0.5, -0.5, -1 the pixels go.
  const explain::Curve deletion = explain::deletion_curve(e, options);
  CHECK(deletion.values == std::vector<double>{4, 2, 0.5, 0, -0.5, 0, 1});
  CHECK(deletion.auc == Approx((4 / 2.0 + 2 + 0.5 + 0 - 0.5 + 0 + 1 / 2.0) / 6));
  const explain::Curve insertion = explain::insertion_curve(e, options);
  CHECK(insertion.values == std::vector<double>{1, 3, 4.5, 5, 5.5, 5, 4});
  // Of a step of 4 units the last one is smaller, and counts by its size.
  options.step = 4;
  CHECK(explain::deletion_curve(e, options).values == std::vector<double>{4, -0.5, 1});
  CHECK(explain::deletion_curve(e, options).auc ==
        Approx((4 - 0.5) / 2 * 4 / 6 + (1 - 0.5) / 2 * 2 / 6));
}

TEST_CASE("deletion and insertion: curves meet, and an increasing map changes nothing",
          "[explain]") {
  const Questions questions(test::linear_logits(kWeights), 5);
  const Explained e = explained(questions);
  explain::CurveOptions options;
  options.baseline = explain::Baseline::kMean;
  const explain::Curve deletion = explain::deletion_curve(e, options);
  const explain::Curve insertion = explain::insertion_curve(e, options);
  CHECK(deletion.values.front() == insertion.values.back());
  CHECK(deletion.values.back() == insertion.values.front());
  std::vector<double> cubed;
  for (const double r : kEffects) cubed.push_back(r * r * r + 7);
  CHECK(explain::deletion_curve(explained(questions, cubed), options).values == deletion.values);
}

TEST_CASE("deletion: by default at most 64 steps", "[explain]") {
  const Questions questions(test::linear_logits(std::vector<double>(150, 1)), 64);
  const Explained e = test::explained_pixels(questions, std::vector<float>(150, 1), 10, 15,
                                             std::vector<double>(150, 0));
  CHECK(explain::deletion_curve(e, {}).values.size() == 51);  // steps of 3 units
}

TEST_CASE("pixel flipping and region perturbation: Quantus's conventions", "[explain]") {
  const Questions questions(test::linear_logits(kWeights, 1), 4);
  const Explained e = explained(questions);
  explain::CurveOptions logit;
  logit.watch = explain::Watch::kLogit;
  const explain::Curve flipping = explain::pixel_flipping(e, kEffects, 2, logit);
  CHECK(flipping.values == std::vector<double>{0.5, -0.5, 1});  // no point of the whole image
  CHECK(flipping.auc == Approx((0.5 - 0.5) / 2 + (1 - 0.5) / 2));
  CHECK_THROWS_AS(explain::pixel_flipping(e, kEffects, 4, logit), ConfigError);
  CHECK(explain::region_perturbation(e, true, logit) == std::vector<double>{2, 3.5, 4, 4.5, 4, 3});
  CHECK(explain::region_perturbation(e, false, logit) ==
        std::vector<double>{-1, -1.5, -1, -0.5, 1, 3});
}

TEST_CASE("perturbation: hits until the class changes, each level from the whole image",
          "[explain]") {
  const Questions questions(test::linear_logits(std::vector<double>(10, 1), -5.5), 3);
  std::vector<double> relevance(10);
  std::iota(relevance.begin(), relevance.end(), 0.0);
  const Explained e = test::explained_pixels(questions, std::vector<float>(10, 1), 2, 5, relevance);
  const explain::Perturbation one = explain::perturbed(e, true, {});
  // 10 - k ones are above 5.5 up to k = 4.
  CHECK(one.clean_hit);
  for (std::size_t k = 0; k < 9; ++k) {
    CHECK(one.hits[k] == (k + 1 <= 4));
    CHECK(one.probability[k] == Approx(sigmoid(10 - static_cast<double>(k + 1) - 5.5)));
  }
  CHECK(one.auc() == Approx(4.5 / 9));
  explain::Perturbation all{true, {}, {}};
  all.hits.fill(true);
  CHECK(all.auc() == 1);
}

TEST_CASE("saco: effects themselves have 1, their negative -1, scaling changes nothing",
          "[explain]") {
  const Questions questions(test::linear_logits(kWeights, -2), 4);
  const auto score = [&](const std::vector<double>& relevance) {
    const Explained e = explained(questions, relevance);
    const auto groups = explain::relevance_groups(relevance, 6);
    return explain::saco(explain::group_sums(relevance, groups),
                         explain::group_drops(e, groups, {}));
  };
  // (Two pixels have equal effects, and no weight in the score.)
  CHECK(score(kEffects) == Approx(1));
  std::vector<double> negative, scaled;
  for (const double r : kEffects) {
    negative.push_back(-r);
    scaled.push_back(10 * r);
  }
  CHECK(score(negative) == Approx(-1));
  CHECK(score(scaled) == Approx(score(kEffects)));
  CHECK(explain::saco(std::vector<double>(4, 1.0), std::vector<double>{1, 2, 3, 4}) == 0);
  // s = 3, 1 with D = 0, 1: the only pair is wrong.
  CHECK(explain::saco(std::vector<double>{3, 1}, std::vector<double>{0, 1}) == -1);
  CHECK_THROWS_AS(explain::saco(std::vector<double>{3, 1}, std::vector<double>{0}), ShapeError);
}

TEST_CASE("saco: random relevance has 0 within its interval", "[explain]") {
  const Questions questions(test::linear_logits(kWeights, -2), 4);
  std::vector<double> scores;
  for (std::uint64_t k = 0; k < 200; ++k) {
    const RandomStream random = RandomStream(17).fork(k);
    std::vector<double> relevance;
    for (std::uint64_t i = 0; i < 6; ++i)
      relevance.push_back(static_cast<double>(random.uniform(i)));
    const Explained e = explained(questions, relevance);
    const auto groups = explain::relevance_groups(relevance, 3);
    scores.push_back(
        explain::saco(explain::group_sums(relevance, groups), explain::group_drops(e, groups, {})));
  }
  const metrics::Estimate mean = metrics::estimate(scores);
  INFO(mean.low << " to " << mean.high);
  CHECK((mean.low < 0 && mean.high > 0));
}

TEST_CASE("saco: groups of ranks, no more than units", "[explain]") {
  const std::vector<double> r = {0, 5, 1, 4, 2};
  using Groups = std::vector<std::vector<std::int64_t>>;
  CHECK(explain::relevance_groups(r, 2) == Groups{{1, 3}, {4, 2, 0}});
  CHECK(explain::relevance_groups(r, 9) == Groups{{1}, {3}, {4}, {2}, {0}});
  CHECK(explain::group_sums(r, explain::relevance_groups(r, 2)) == std::vector<double>{9, 3});
}

TEST_CASE("violation: signs of relevance against signs of drops", "[explain]") {
  const Questions questions(test::linear_logits(kWeights), 4);
  const Explained e = explained(questions);
  const std::vector<double> drops = explain::unit_drops(e, {});
  REQUIRE(drops.size() == 6);
  CHECK(drops[2] == Approx(sigmoid(3) - sigmoid(1)));
  CHECK_FALSE(explain::violated(drops, drops));
  CHECK(explain::sign_agreement(drops, drops) == 1);
  const std::vector<double> r = {1, -4, 2, 0, 1}, d = {0.1, 0.1, -0.1, 0.5, 0};
  CHECK(explain::strongest_unit(r) == 1);
  CHECK(explain::violated(r, d));
  CHECK(explain::sign_agreement(r, d) == Approx(1.0 / 7));  // 1 of 1 + 4 + 2
  CHECK(std::isnan(explain::sign_agreement(std::vector<double>{0, 1}, std::vector<double>{1, 0})));
  CHECK(explain::positive_to_negative(r) == Approx(1));
  CHECK(std::isnan(explain::positive_to_negative(std::vector<double>{0, 1})));
}

TEST_CASE("road: nothing is lost of a constant image, and a half is the whole difference",
          "[explain]") {
  const Questions questions(test::linear_logits(kWeights), 4);
  Explained e = explained(questions);
  e.image.values.assign(6, 2.0f);
  const auto none = [](std::size_t, bool) -> std::vector<double> {
    throw Error("noise was not asked for");
  };
  const explain::Road same = explain::road(e, {.levels = {0.2, 0.5}, .noise_scale = 0}, none);
  CHECK(same.score() == 0);
  for (const double p : same.morf_prob) CHECK(p == Approx(sigmoid(2 * 2.75)));
  // Noise alone: a unit of it on the most relevant pixel, none on the least relevant ones.
  const explain::Road noisy = explain::road(
      e, {.levels = {0.3}, .noise_scale = 0.5},
      [](std::size_t, bool least) { return std::vector<double>(6, least ? 0.0 : 1.0); });
  CHECK(noisy.morf_prob[0] == Approx(sigmoid(2 * 2.75 + 0.5 * 2)));
  CHECK(noisy.lerf_prob[0] == Approx(sigmoid(2 * 2.75)));
  CHECK(noisy.score() == Approx((noisy.lerf_prob[0] - noisy.morf_prob[0]) / 2));
  CHECK_THROWS_AS(explain::road(e, {.levels = {}}, none), ConfigError);
}
