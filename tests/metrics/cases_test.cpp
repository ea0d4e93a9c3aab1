#include "metrics/cases.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "base/error.h"

using namespace fovea;
using namespace fovea::metrics;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Three classes with the background. In the second case class 1 is only predicted, class 2 only in
// the truth.
std::vector<CaseScores> two_cases() {
  return {{{{50, 10, 4}, {52, 8, 4}, {48, 6, 2}}, {2, 5}, {3, 8}},
          {{{60, 0, 4}, {60, 4, 0}, {56, 0, 0}}, {kNone, kNone}, {kNone, kNone}}};
}

}  // namespace

TEST_CASE("cases: Dice and HD95 by the three conventions for empty masks", "[metrics]") {
  const auto measured = [](EmptyMasks empty) {
    return measure_cases({{"case_dice", "hd95", "hd95_mm"}, empty}, two_cases());
  };
  const double first = 100 * 12.0 / 18, second = 50;  // Dice of the first case
  const auto strict = measured(EmptyMasks::kStrict);
  REQUIRE(strict.size() == 3);
  CHECK(strict[0].metric.info == kCaseDice);
  CHECK(strict[0].metric.value == Approx((first + second / 2) / 2));
  CHECK(strict[0].undefined == 1);
  CHECK(strict[0].compared == 4);
  CHECK(strict[1].metric.value == Approx(3.5));
  CHECK(strict[1].undefined == 2);
  CHECK(strict[2].metric.value == Approx(5.5));
  const auto gdla = measured(EmptyMasks::kGdla);
  CHECK(gdla[0].metric.value == Approx(strict[0].metric.value));
  CHECK(gdla[1].metric.value == Approx(1.75));
  CHECK(gdla[1].strict == Approx(3.5));
  const auto transunet = measured(EmptyMasks::kTransUnet);
  CHECK(transunet[0].metric.value == Approx(((first + 100) / 2 + second / 2) / 2));
  CHECK(transunet[0].strict == Approx(strict[0].metric.value));
  CHECK(transunet[1].metric.value == Approx(1.75));
  CHECK(case_dice(0, 0, 0, EmptyMasks::kTransUnet) == 0);
  CHECK(std::isnan(case_dice(0, 0, 0, EmptyMasks::kGdla)));
  CHECK(case_dice(4, 0, 0, EmptyMasks::kStrict) == 0);
}

TEST_CASE("cases: every case has a value of its own, undefined where a class was missed",
          "[metrics]") {
  const auto measured = [](EmptyMasks empty) {
    return measure_cases({{"case_dice", "case_iou", "hd95"}, empty}, two_cases());
  };
  const auto strict = measured(EmptyMasks::kStrict);
  REQUIRE(strict.size() == 3);
  CHECK(strict[1].metric.info == kCaseIou);
  CHECK(strict[1].metric.value == Approx(100 * (0.5 + (1.0 / 3 + 0) / 2) / 2));
  const std::vector<double>& dice = strict[0].metric.per_sample;
  const std::vector<double>& iou = strict[1].metric.per_sample;
  CHECK(dice[0] == Approx((100 * 12.0 / 18 + 50) / 2));
  CHECK(dice[1] == 0);  // of class 2; class 1 is not in the truth
  CHECK(iou[0] == Approx(100 * (0.5 + 1.0 / 3) / 2));
  CHECK(iou[1] == 0);
  const std::vector<double>& distance = strict[2].metric.per_sample;
  CHECK(distance[0] == Approx(3.5));
  CHECK(std::isnan(distance[1]));  // class 2 was not found
  CHECK(measured(EmptyMasks::kGdla)[2].metric.per_sample == std::vector<double>{3.5, 0});
  CHECK_FALSE(strict[0].metric.of_volumes);
  std::vector<CaseScores> volumes = two_cases();
  for (CaseScores& volume : volumes) volume.volume = "v";
  CHECK(measure_cases({{"hd95"}}, volumes)[0].metric.of_volumes);
}

TEST_CASE("cases: a class that occurs nowhere has a Dice of 0 and no HD95", "[metrics]") {
  const std::vector<std::vector<double>> cases = {{1, kNone}, {0.5, kNone}};
  const ClassMeans zero = means_over_cases(cases, Empty::kZero);
  CHECK(zero.of_class == std::vector<double>{0.75, 0});
  CHECK(zero.mean == 0.375);
  const ClassMeans left_out = means_over_cases(cases, Empty::kLeftOut);
  CHECK(std::isnan(left_out.of_class[1]));
  CHECK(left_out.mean == 0.75);
  CHECK(std::isnan(means_over_cases({}, Empty::kLeftOut).mean));
}

TEST_CASE("class_hd95: each class but the first; ignored pixels are of no class", "[metrics]") {
  // Two columns of class 1, one further right in the prediction; class 2 only where it is ignored.
  const std::vector<std::int64_t> truth = {1, 0, 0, 0, -100, 1, 0, 0, 0, -100};
  const std::vector<std::int64_t> predicted = {0, 1, 0, 0, 2, 0, 1, 0, 0, 1};
  const std::vector<double> distances = class_hd95(truth, predicted, 3, -100, {{2, 5}});
  REQUIRE(distances.size() == 2);
  CHECK(distances[0] == 1);
  CHECK(std::isnan(distances[1]));
  CHECK(class_hd95(truth, predicted, 3, -100, {{2, 5}, {1, 0.5}})[0] == 0.5);
}

TEST_CASE("case metrics: an unknown name is refused with those that there are", "[metrics]") {
  CHECK_THROWS_WITH(case_metrics({{"hd"}}),
                    "eval.metrics: no metric called \"hd\"; expected some "
                    "of case_dice, case_iou, hd95, hd95_mm");
}
