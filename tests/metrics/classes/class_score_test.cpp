// Scores of classifications against scikit-learn 1.9 (calibration: Guo et al.'s bins in NumPy).
#include "metrics/classes/class_score.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "metrics/classes/calibration.h"

using namespace fovea;
using namespace fovea::metrics;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Expected {
  const char* score;
  double mean;  // of the defined values, a share of 1; kNone without any
  std::int64_t defined, of;
};
struct Classified {
  const char* what;
  std::int64_t classes, width;
  std::vector<std::int64_t> labels;
  std::vector<float> logits;
  std::vector<Expected> expected;
};

// Random logits that are multiples of a half, so that many are equal. Scores of each class with
// zero_division=nan, roc_auc_score and average_precision_score of each class against the others
// where it has samples and, for the former, others have; the mean of what is defined.
const std::vector<Classified>& classified() {
  static const std::vector<Classified> all = {
      {"two classes with ties",
       2,
       2,
       {0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 0},
       {1,  1.5, -2,   1.5, 0,    1.5, 0.5, -1, 2,  -2,   -1, 1,   0.5, -0.5, 0,   -2,
        -2, -2,  -1.5, 2,   -1.5, 2,   2.5, -1, -1, -0.5, -1, 3.5, 0,   2,    1.5, 1.5},
       {{"balanced_accuracy", 0.5625, 2, 2},
        {"macro_f1", 0.5607843137254902, 2, 2},
        {"macro_precision", 0.56349206349206349, 2, 2},
        {"auroc", 0.65625, 1, 1},
        {"average_precision", 0.68871753246753253, 1, 1},
        {"mcc", 0.12598815766974239, 1, 1},
        {"ece", 0.30231233686208725, 1, 1}}},
      {"three classes",
       3,
       3,
       {2, 1, 0, 2, 0, 0, 0, 1, 0, 2, 2, 1, 0, 2, 0, 1, 0, 2},
       {0.5, 0,    -1.5, 1.5,  1.5,  -1,  -2,  -1, -1.5, 1.5, 0,    1.5,  -1, 0,
        2,   -1,   1,    -2,   -1,   2,   1.5, -2, 1.5,  1.5, 0,    -0.5, 2,  2,
        1,   -0.5, -1.5, 2,    0.5,  0.5, 1,   -1, 0.5,  1,   -1.5, 1,    2,  1,
        0.5, 0,    2,    -1.5, -0.5, 0.5, 0.5, -2, -1.5, 1,   1.5,  2},
       {{"balanced_accuracy", 0.2638888888888889, 3, 3},
        {"macro_f1", 0.22299922299922301, 3, 3},
        {"macro_precision", 0.21666666666666667, 3, 3},
        {"auroc", 0.45982142857142855, 3, 3},
        {"average_precision", 0.35413406038406042, 3, 3},
        {"mcc", -0.14354231294080363, 1, 1},
        {"ece", 0.42242149511973065, 1, 1}}},
      {"an absent class",
       4,
       4,
       {3, 0, 3, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 1, 0, 3, 3, 1},
       {-1,  2,    0.5,  0,    1.5, 1.5, -2,   -1.5, 1,   -0.5, -0.5, -2,   -1.5, 1.5, 1.5,
        1.5, 0.5,  -1.5, -1,   0,   3.5, -1,   0,    0,   0,    0,    1,    -2,   3.5, 1.5,
        1,   -1,   -0.5, 0,    -1,  -2,  2.5,  -2,   1,   -1.5, 0.5,  -0.5, -1,   2,   0,
        2,   -1.5, 0,    -0.5, 0,   -2,  1,    -0.5, 1.5, -1.5, -0.5, -0.5, 1.5,  0,   -0.5,
        2,   0.5,  2,    1,    0.5, 0,   -1.5, 2.5,  1.5, 2.5,  -0.5, -2},
       {{"balanced_accuracy", 0.52222222222222214, 3, 4},
        {"macro_f1", 0.37205882352941178, 4, 4},
        {"macro_precision", 0.41666666666666663, 4, 4},
        {"auroc", 0.72400284900284895, 3, 4},
        {"average_precision", 0.62372354497354499, 3, 4},
        {"mcc", 0.27642947628757641, 1, 1},
        {"ece", 0.25963704950279659, 1, 1}}},
      {"one class only",
       3,
       3,
       {2, 2, 2, 2, 2, 2},
       {2, 0, 0, 0, -2, 1.5, 1.5, -2, 0.5, 0.5, -0.5, 1.5, 1.5, 0.5, 0, 1, 1, 0},
       {{"balanced_accuracy", 0.33333333333333331, 1, 3},
        {"macro_f1", 0.25, 2, 3},
        {"macro_precision", 0.5, 2, 3},
        {"auroc", kNone, 0, 3},
        {"average_precision", 1, 1, 3},
        {"mcc", kNone, 0, 1},
        {"ece", 0.33603695531686145, 1, 1}}},
      {"two classes, one of which is there",
       2,
       2,
       {1, 1, 1, 1, 1, 1},
       {1.5, 0, -2, 3.5, 0, 2.5, 1, 3.5, -2, -1, 2, 1},
       {{"balanced_accuracy", 0.66666666666666663, 1, 2},
        {"macro_f1", 0.40000000000000002, 2, 2},
        {"macro_precision", 0.5, 2, 2},
        {"auroc", kNone, 0, 1},
        {"average_precision", 1, 1, 1},
        {"mcc", kNone, 0, 1},
        {"ece", 0.23924636840820312, 1, 1}}},
      {"one class predicted",
       3,
       3,
       {0, 2, 1, 0, 1, 0, 0, 0},
       {-0.5, 10, 0,    -1, 7.5, -2, 0,    7.5, 0.5, 1, 8.5, 0,
        -2,   9,  -1.5, 0,  7,   -1, -0.5, 9,   -2,  2, 8.5, -1.5},
       {{"balanced_accuracy", 0.33333333333333331, 3, 3},
        {"macro_f1", 0.13333333333333333, 3, 3},
        {"macro_precision", 0.25, 1, 3},
        {"auroc", 0.62936507936507935, 3, 3},
        {"average_precision", 0.5896825396825397, 3, 3},
        {"mcc", kNone, 0, 1},
        {"ece", 0.74931275099515915, 1, 1}}},
      {"more outputs than classes",
       3,
       5,
       {1, 0, 2, 0, 1, 0, 1, 1, 2, 1},
       {-0.5, 2,    -2,   -6,   -8,  3.5,  1,    -1,  -9,  -7.5, 1.5,  2,    0,   -10,  -6, 3,  1,
        -0.5, -9.5, -6.5, -1.5, 0.5, 1.5,  -7.5, -9,  0,   0.5,  -2,   -9,   -7,  0.5,  3,  1,  -8,
        -9,   -0.5, -1.5, 2,    -10, -8.5, -2,   1.5, 0.5, -8.5, -6.5, -0.5, 1.5, -0.5, -7, -10},
       {{"balanced_accuracy", 0.42222222222222222, 3, 3},
        {"macro_f1", 0.44848484848484849, 3, 3},
        {"macro_precision", 0.5, 3, 3},
        {"auroc", 0.76833333333333342, 3, 3},
        {"average_precision", 0.71587301587301588, 3, 3},
        {"mcc", 0.16971105832553268, 1, 1},
        {"ece", 0.384238600730896, 1, 1}}}};
  return all;
}

ClassPredictions predictions_of(const Classified& given) {
  ClassPredictions predictions{
      given.classes, given.width, given.labels, {}, class_probabilities(given.logits, given.width)};
  for (std::int64_t i = 0; i < predictions.size(); ++i) {
    const auto row = predictions.row(i);
    predictions.predictions.push_back(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return predictions;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const ClassScoreEntry& entry : class_scores()) names.push_back(entry.name);
  return names;
}

}  // namespace

TEST_CASE("class scores: are those of scikit-learn, with ties, absent classes and one class only",
          "[metrics]") {
  for (const Classified& given : classified()) {
    INFO(given.what);
    const std::vector<Measurement> measured =
        measure_class_scores(all_names(), predictions_of(given));
    REQUIRE(measured.size() == given.expected.size());
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const Expected& expected = given.expected[i];
      const Measurement& one = measured[i];
      INFO(expected.score);
      CHECK(one.info.name == expected.score);
      const double share = one.info.unit == "%" ? one.value / 100 : one.value;
      if (expected.defined == 0) {
        CHECK(std::isnan(share));
      } else {
        CHECK(std::abs(share - expected.mean) < 1e-9);
      }
      // A mean over all values says nothing of how many.
      CHECK(one.coverage.complete() == (expected.defined == expected.of));
      if (!one.coverage.complete()) {
        CHECK(one.coverage.defined == expected.defined);
        CHECK(one.coverage.compared == expected.of);
      }
    }
  }
}

TEST_CASE("class scores: a perfect prediction has the best value of each", "[metrics]") {
  const std::vector<std::int64_t> labels = {0, 1, 2, 1};
  ClassPredictions perfect{3, 3, labels, labels, {}};
  for (const std::int64_t label : labels)
    for (std::int64_t c = 0; c < 3; ++c) perfect.probabilities.push_back(c == label ? 1 : 0);
  for (const Measurement& one : measure_class_scores(all_names(), perfect)) {
    INFO(one.info.name);
    CHECK(one.value == (one.info.name == "ece" ? 0 : one.info.name == "mcc" ? 1 : 100));
    CHECK(one.info.larger_is_better == (one.info.name != "ece"));
  }
}

TEST_CASE("class scores: probabilities that are not numbers have no rank and no calibration",
          "[metrics]") {
  const auto nan = static_cast<float>(kNone);
  const ClassPredictions broken{2, 2, {0, 1}, {0, 0}, {nan, nan, 0.25f, 0.75f}};
  for (const char* name : {"auroc", "ece"})
    CHECK(std::isnan(measure_class_scores({name}, broken)[0].value));
  CHECK(measure_class_scores({"balanced_accuracy"}, broken)[0].value == 50);
}

TEST_CASE("calibration: a bound belongs to the bin below it, and 0 to the first", "[metrics]") {
  // The predicted class of the last sample is not the most probable one.
  const ClassPredictions predictions{2, 2, {0, 0, 1}, {0, 0, 0}, {1, 0, 0.8f, 0.2f, 0, 1}};
  const std::vector<CalibrationBin> bins = calibration_bins(predictions);
  REQUIRE(std::ssize(bins) == kCalibrationBins);
  CHECK(bins.front().samples == 1);
  CHECK(bins.front().accuracy == 0);
  CHECK(bins.back().samples == 1);
  CHECK(bins.back().high == 1);
  CHECK(bins[12].samples == 1);  // 0.8f is above 12/15
  CHECK(std::isnan(bins[5].confidence));
}

TEST_CASE("class scores: an unknown name is refused with those that there are", "[metrics]") {
  CHECK_THROWS_WITH(
      class_scores_of({"auprc"}),
      Catch::Contains("eval.metrics: no metric of classifications called \"auprc\"") &&
          Catch::EndsWith("expected some of balanced_accuracy, macro_f1, "
                          "macro_precision, auroc, average_precision, mcc, ece"));
  const auto infos = class_scores_of({"mcc", "auroc", "mcc"});
  REQUIRE(infos.size() == 2);
  CHECK(infos[0].name == "auroc");
  CHECK(infos[1].unit.empty());
}
