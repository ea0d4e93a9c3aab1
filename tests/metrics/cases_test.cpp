#include "metrics/cases.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"
#include "tests/metrics/distances.h"

using namespace fovea;
using namespace fovea::metrics;
using fovea::test::distances;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Three classes with the background. In the second case class 1 is only predicted, class 2 only in
// the truth.
std::vector<CaseScores> two_cases() {
  const std::vector<double> none = {kNone, kNone};
  return {{{{50, 10, 4}, {52, 8, 4}, {48, 6, 2}},
           {{"hd95", {2, 5}}, {"hd", {4, 7}}, {"hd95_mm", {3, 8}}, {"hd_mm", {6, 9}}}},
          {{{60, 0, 4}, {60, 4, 0}, {56, 0, 0}},
           {{"hd95", none}, {"hd", none}, {"hd95_mm", none}, {"hd_mm", none}}}};
}

}  // namespace

TEST_CASE("cases: Dice and HD95 by the three conventions for empty masks", "[metrics]") {
  const auto measured = [](EmptyMasks empty) {
    return measure_cases({{"case_dice", "hd95", "hd95_mm"}, empty}, two_cases());
  };
  const double first = 100 * 12.0 / 18, second = 50;  // Dice of the first case
  const auto strict = measured(EmptyMasks::kStrict);
  REQUIRE(strict.size() == 3);
  CHECK(strict[0].metric.info.name == "case_dice");
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
  CHECK(strict[1].metric.info.name == "case_iou");
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

TEST_CASE("mask_values: each class but the first; ignored pixels are of no class", "[metrics]") {
  // Two columns of class 1, one further right in the prediction; class 2 only where it is ignored.
  const std::vector<std::int64_t> truth = {1, 0, 0, 0, -100, 1, 0, 0, 0, -100};
  const std::vector<std::int64_t> predicted = {0, 1, 0, 0, 2, 0, 1, 0, 0, 1};
  for (const char* metric : {"hd95", "hd"}) {
    const std::vector<double> found = distances(metric, truth, predicted, 3, -100, {{2, 5}});
    REQUIRE(found.size() == 2);
    CHECK(found[0] == 1);
    CHECK(std::isnan(found[1]));
  }
  CHECK(distances("hd95", truth, predicted, 3, -100, {{2, 5}, {1, 0.5}})[0] == 0.5);
  // One pixel of 25 lies 4 further off: the largest distance sees it, the 95th percentile hardly.
  std::vector<std::int64_t> line(30, 0), longer(30, 0);
  for (std::size_t i = 0; i < 25; ++i) line[i] = longer[i] = 1;
  longer[28] = 1;
  CHECK(distances("hd", line, longer, 2, -100, {{1, 30}})[0] == 4);
  CHECK(distances("hd95", line, longer, 2, -100, {{1, 30}})[0] == 0);
}

TEST_CASE("cases: D-Former's rule counts 1 where both are empty and 0 where one is", "[metrics]") {
  CHECK(case_dice(0, 0, 0, EmptyMasks::kDformer) == 1);
  CHECK(case_dice(0, 3, 0, EmptyMasks::kDformer) == 0);
  CHECK(case_dice(3, 0, 0, EmptyMasks::kDformer) == 0);
  CHECK(case_iou(0, 0, 0, EmptyMasks::kDformer) == 1);
  CHECK(std::isnan(case_distance(kNone, EmptyMasks::kDformer)));
  std::vector<CaseScores> cases = two_cases();
  const auto measured = measure_cases({{"case_dice"}, EmptyMasks::kDformer}, cases);
  CHECK(measured[0].metric.value == Approx(((100 * 12.0 / 18 + 0) / 2 + (50.0 + 0) / 2) / 2));
  CHECK(measured[0].metric.coverage.complete());
  // A class that is neither in the truth nor found is right.
  cases[1].counts = {{64, 0, 0}, {64, 0, 0}, {64, 0, 0}};
  CHECK(measure_cases({{"case_dice"}, EmptyMasks::kDformer}, cases)[0].metric.value ==
        Approx(((100 * 12.0 / 18 + 100) / 2 + (50.0 + 100) / 2) / 2));
}

TEST_CASE("cases: of one foreground case_dice is dice_per_image, but for images without foreground",
          "[metrics]") {
  const auto counts = [](const std::vector<float>& predicted, const std::vector<float>& truth) {
    MaskCounts n;
    n.add(predicted, truth);
    return n;
  };
  std::vector<MaskCounts> images = {counts({1, 1, 0, 0}, {1, 0, 0, 0}),
                                    counts({0, 1, 0, 0}, {1, 1, 1, 0})};
  const auto both = [&](EmptyMasks empty) {
    std::vector<CaseScores> cases;
    for (const MaskCounts& image : images) cases.push_back({class_counts(image)});
    return std::pair(measure_cases({{"case_dice"}, empty}, cases)[0].metric.value,
                     value_of(measure_masks(0, images), "dice_per_image"));
  };
  const auto [strict, per_image] = both(EmptyMasks::kStrict);
  CHECK(strict == Approx(per_image));
  images.push_back(counts({0, 0, 0, 0}, {0, 0, 0, 0}));
  images.push_back(counts({0, 1, 0, 0}, {0, 0, 0, 0}));
  const auto [again, with_empty] = both(EmptyMasks::kStrict);
  CHECK(again == Approx(strict));
  CHECK(with_empty == Approx((2 * per_image + 100 + 0) / 4));
  const auto [dformer, same] = both(EmptyMasks::kDformer);
  CHECK(dformer == Approx(same));
}

TEST_CASE("cases: each class has its mean over the cases, and means are of the chosen classes",
          "[metrics]") {
  const std::vector<std::string> names = {"background", "liver", "left kidney"};
  CaseMetrics asked{{"case_dice", "hd95", "hd"}};
  const auto all = measure_cases(asked, two_cases(), names);
  const auto value = [](const std::vector<CaseMeasurement>& measured, const std::string& name) {
    for (const CaseMeasurement& one : measured)
      if (one.metric.info.name == name) return one.metric;
    throw std::runtime_error(name);
  };
  REQUIRE(all.size() == 9);
  CHECK(value(all, "case_dice_liver").value == Approx(100 * 12.0 / 18));  // in one case's truth
  CHECK(value(all, "case_dice_left_kidney").value == Approx((50.0 + 0) / 2));
  CHECK(value(all, "case_dice").value ==
        Approx((value(all, "case_dice_liver").value + value(all, "case_dice_left_kidney").value) /
               2));
  CHECK(value(all, "hd95_left_kidney").value == 5);
  CHECK(value(all, "hd_left_kidney").value == 7);
  CHECK(value(all, "hd").value == 5.5);
  CHECK(value(all, "hd_liver").info.unit == "px");
  CHECK(value(all, "case_dice_left_kidney").per_sample == std::vector<double>{50, 0});
  asked.classes = {"left kidney"};
  const auto chosen = measure_cases(asked, two_cases(), names);
  CHECK(value(chosen, "case_dice").value == value(all, "case_dice_left_kidney").value);
  CHECK(value(chosen, "case_dice").per_sample == value(all, "case_dice_left_kidney").per_sample);
  CHECK(value(chosen, "hd95").value == 5);
  CHECK(value(chosen, "case_dice_liver").value == value(all, "case_dice_liver").value);
  std::vector<std::string> infos;
  for (const MetricInfo& info : case_metrics(asked, names)) infos.push_back(info.name);
  std::vector<std::string> measured;
  for (const CaseMeasurement& one : all) measured.push_back(one.metric.info.name);
  CHECK(infos == measured);
  asked.classes = {"kidney"};
  CHECK_THROWS_WITH(measure_cases(asked, two_cases(), names),
                    "eval.classes: no class called \"kidney\" (known: background, liver, left "
                    "kidney)");
  asked.classes = {"background"};
  CHECK_THROWS_WITH(measure_cases(asked, two_cases(), names), Catch::Contains("is the background"));
  asked.classes = {"liver", "liver"};
  CHECK_THROWS_WITH(measure_cases(asked, two_cases(), names), Catch::Contains("given twice"));
}

TEST_CASE("cases: where no class is the background, the first counts like the others",
          "[metrics]") {
  // Two rows: above class 0 with one pixel wrong, below class 1.
  const std::vector<std::int64_t> truth = {0, 0, 0, 0, 1, 1, 1, 1},
                                  found = {0, 0, 0, 1, 1, 1, 1, 1};
  const LabelSets sets = {{0}, {1}};
  ConfusionMatrix confusion(2);
  confusion.add(truth, found);
  CaseMetrics asked{{"case_dice", "hd"}};
  const auto measured = [&] {
    CaseScores scores{class_counts(confusion)};
    scores.from_masks =
        mask_values({asked_entries(asked)[1]}, truth, found, sets, -100, {{2, 4}}, asked);
    std::map<std::string, double> values;
    for (const CaseMeasurement& one : measure_cases(asked, {scores}, {"wall", "sky"}))
      values[one.metric.info.name] = one.metric.value;
    return values;
  };
  const auto behind = measured();
  CHECK(behind.size() == 4);
  CHECK(behind.at("case_dice") == Approx(100 * 8.0 / 9));
  asked.first_class = 0;
  const auto all = measured();
  CHECK(all.size() == 6);
  CHECK(all.at("case_dice_wall") == Approx(100 * 6.0 / 7));
  CHECK(all.at("case_dice_sky") == behind.at("case_dice_sky"));
  CHECK(all.at("case_dice") == Approx((600.0 / 7 + 800.0 / 9) / 2));
  CHECK(all.at("hd_wall") == 1);
  CHECK(case_metrics(asked, {"wall", "sky"}).size() == 6);
  asked.classes = {"wall"};
  CHECK(measured().at("case_dice") == Approx(100 * 6.0 / 7));
}

TEST_CASE("cases: a class that no case has counts 0 in means, and has no value of its own",
          "[metrics]") {
  std::vector<CaseScores> cases = two_cases();
  for (CaseScores& one : cases) {
    one.counts.truth.push_back(0);
    one.counts.predicted.push_back(0);
    one.counts.both.push_back(0);
  }
  const auto before = measure_cases({{"case_dice"}}, two_cases(), {"background", "a", "b"});
  const auto measured = measure_cases({{"case_dice"}}, cases, {"background", "a", "b", "c"});
  REQUIRE(measured.size() == 4);
  CHECK(measured[0].metric.value == Approx(2.0 / 3 * before[0].metric.value));
  CHECK(measured[0].absent == 1);
  CHECK(before[0].absent == 0);
  CHECK(measured[3].metric.info.name == "case_dice_c");
  CHECK(std::isnan(measured[3].metric.value));
  CHECK(coverage_text(measured[3].metric.coverage) == " (0/2)");
}

TEST_CASE("cases: a mean says over how many of the values it is, and over which", "[metrics]") {
  const auto coverage = [](EmptyMasks empty, const std::vector<CaseScores>& cases) {
    std::vector<Coverage> all;
    for (const auto& one : measure_cases({{"case_dice", "hd95"}, empty}, cases))
      all.push_back(one.metric.coverage);
    return all;
  };
  const auto strict = coverage(EmptyMasks::kStrict, two_cases());
  CHECK(strict[0].defined == 3);
  CHECK(strict[1].defined == 2);
  CHECK(strict[1].compared == 4);
  CHECK_FALSE(strict[1].complete());
  // A distance that a rule puts 0 for was not measured.
  CHECK(coverage(EmptyMasks::kGdla, two_cases())[1] == strict[1]);
  CHECK(coverage(EmptyMasks::kTransUnet, two_cases())[0].complete());
  // As many, but others.
  std::vector<CaseScores> swapped = two_cases();
  std::swap(swapped[0], swapped[1]);
  const Coverage other = coverage(EmptyMasks::kStrict, swapped)[1];
  CHECK(other.defined == strict[1].defined);
  CHECK(other.set != strict[1].set);
  std::vector<CaseScores> found = {two_cases()[0]};
  CHECK(coverage(EmptyMasks::kStrict, found)[1].set.empty());
  CHECK(coverage_text(strict[1]) == " (2/4)");
  CHECK(coverage_text(coverage(EmptyMasks::kStrict, found)[1]).empty());
}

TEST_CASE("cases: shares that are made of masks count as Dice where a mask is empty", "[metrics]") {
  std::vector<CaseScores> cases = two_cases();
  cases[0].from_masks["nsd"] = {0.5, 0.25};
  cases[1].from_masks["nsd"] = {kNone, kNone};
  const auto measured = [&](EmptyMasks empty) { return measure_cases({{"nsd"}, empty}, cases)[0]; };
  const CaseMeasurement strict = measured(EmptyMasks::kStrict);
  CHECK(strict.metric.info.unit == "%");
  CHECK(strict.metric.info.larger_is_better);
  // Class 1 of the second case is not in the truth, class 2 was not found.
  CHECK(strict.metric.value == Approx((50.0 + (25.0 + 0) / 2) / 2));
  CHECK(strict.undefined == 1);
  CHECK(strict.metric.per_sample == std::vector<double>{37.5, 0});
  CHECK(measured(EmptyMasks::kTransUnet).metric.value == Approx((75.0 + 12.5) / 2));
  CHECK_FALSE(measured(EmptyMasks::kTransUnet).left_out);
  CHECK(measured(EmptyMasks::kGdla).left_out);
  CHECK(CaseMetrics{{"nsd"}}.has_pixel_distances());
  CHECK_FALSE(CaseMetrics{{"nsd_mm"}}.has_pixel_distances());
  CHECK_FALSE(CaseMetrics{{"case_lesion_f1"}}.has_distances());
  CHECK(in_pixels(case_metric_entries().find("nsd_mm"))->name == "nsd");
  CHECK(in_pixels(case_metric_entries().find("assd_mm"))->name == "assd");
}

TEST_CASE("cases: a relative volume error is left out without truth, by every rule", "[metrics]") {
  std::vector<CaseScores> cases = two_cases();
  for (const EmptyMasks empty :
       {EmptyMasks::kStrict, EmptyMasks::kTransUnet, EmptyMasks::kDformer}) {
    const CaseMeasurement one = measure_cases({{"case_rve"}, empty}, cases)[0];
    CHECK(one.metric.value == Approx((100 * 2.0 / 10 + (0 + 100.0) / 2) / 2));
    CHECK(one.undefined == 1);
    CHECK(one.left_out);
    CHECK_FALSE(one.metric.info.larger_is_better);
  }
  // A class that no case has is no error of 0.
  for (CaseScores& one : cases)
    for (auto* list : {&one.counts.truth, &one.counts.predicted, &one.counts.both})
      list->push_back(0);
  const CaseMeasurement same = measure_cases({{"case_rve"}}, cases)[0];
  CHECK(same.metric.value == Approx((100 * 2.0 / 10 + (0 + 100.0) / 2) / 2));
  CHECK(same.absent == 0);
}

TEST_CASE("mask_values: tolerances are in pixels and in millimetres", "[metrics]") {
  const std::vector<std::int64_t> truth = {1, 1, 0, 0, 0, 0}, found = {1, 1, 1, 0, 0, 0};
  CaseMetrics asked{{"nsd", "nsd_mm"}};
  asked.nsd_tolerance = 0.5;
  asked.nsd_tolerance_mm = 5;
  const MaskValues values =
      mask_values(asked_entries(asked), truth, found, {{0}, {1}}, -100, {{1, 6}}, asked);
  CHECK(values.at("nsd")[0] < 1);
  CHECK(values.at("nsd_mm")[0] == 1);
}

TEST_CASE("case metrics: an unknown name is refused with those that there are", "[metrics]") {
  CHECK_THROWS_WITH(case_metrics({{"hd96"}}),
                    "eval.metrics: no metric called \"hd96\"; expected some "
                    "of case_dice, case_iou, case_rve, case_lesion_f1, hd95, hd95_mm, hd, "
                    "hd_mm, assd, assd_mm, nsd, nsd_mm");
}

namespace fovea::metrics {
namespace {

double recall(std::int64_t truth, std::int64_t /*predicted*/, std::int64_t both,
              EmptyMasks /*empty*/) {
  return truth == 0 ? kNone : static_cast<double>(both) / static_cast<double>(truth);
}
double mean(const std::vector<double>& distances) {
  return std::accumulate(distances.begin(), distances.end(), 0.0) /
         static_cast<double>(distances.size());
}

// What source files of new metrics hold.
FOVEA_CASE_METRIC(case_toy, "share of the truth that was found", {.unit = "%", .share = recall})
FOVEA_CASE_METRIC(
    toy_distance, "mean distance between borders",
    {.unit = "px", .larger_is_better = false, .distance = mean, .lengths = Lengths::kPixels})

}  // namespace
}  // namespace fovea::metrics

TEST_CASE("case metrics: a new one is a source file and a line", "[metrics]") {
  case_metric_entries().add(case_metric_entry_case_toy());
  case_metric_entries().add(case_metric_entry_toy_distance());
  CHECK_THAT(case_metrics_help(),
             Catch::EndsWith("; case_toy: share of the truth that was found; toy_distance: mean "
                             "distance between borders"));
  const CaseMetrics asked{{"toy_distance", "case_toy"}};
  CHECK(asked.has_pixel_distances());
  const std::vector<std::string> names = {"background", "liver", "spleen"};
  std::vector<CaseScores> cases = two_cases();
  cases[0].from_masks["toy_distance"] = {1, 2};
  cases[1].from_masks["toy_distance"] = {kNone, kNone};
  const std::vector<CaseMeasurement> measured = measure_cases(asked, cases, names);
  REQUIRE(measured.size() == 6);
  CHECK(measured[0].metric.info.name == "case_toy");
  CHECK(measured[0].metric.value == Approx(100 * (0.6 + (0.5 + 0) / 2) / 2));
  CHECK(measured[1].metric.info == MetricInfo{.name = "toy_distance",
                                              .unit = "px",
                                              .larger_is_better = false,
                                              .decimals = 2,
                                              .per_sample = true});
  CHECK(measured[1].metric.value == 1.5);
  CHECK(measured[1].undefined == 2);
  CHECK(measured[5].metric.info.name == "toy_distance_spleen");
  const std::vector<std::int64_t> truth = {1, 1, 0, 0, 0, 0}, found = {1, 1, 0, 0, 0, 1};
  CHECK(distances("toy_distance", truth, found, 2, -100, {{1, 6}})[0] == Approx(4.0 / 5));
}
