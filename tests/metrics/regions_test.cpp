// Scores of sets of labels that overlap.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "metrics/label_maps.h"
#include "tests/metrics/distances.h"

using namespace fovea::metrics;
namespace test = fovea::test;

namespace {

using Labels = std::vector<std::int64_t>;

// The background first.
const LabelSets kSets = {{0}, {1, 2, 3}, {2, 3}, {3}};
const Labels kTruth = {0, 1, 2, 2, 1, 0, -100, 0, 1, 2, 2, 1};  // without label 3
const Labels kFound = {0, 1, 1, 2, 2, 1, 3, 0, 0, 3, 2, 1};

Labels mask_of(const Labels& labels, const Labels& set, const Labels& truth) {
  Labels mask;
  for (std::size_t i = 0; i < labels.size(); ++i)
    mask.push_back(truth[i] >= 0 && std::count(set.begin(), set.end(), labels[i]) > 0 ? 1 : 0);
  return mask;
}

std::vector<std::string> names_of(const std::vector<MetricInfo>& infos) {
  std::vector<std::string> names;
  for (const MetricInfo& info : infos) names.push_back(info.name);
  return names;
}

}  // namespace

TEST_CASE("regions: counts and distances are those of their masks", "[metrics]") {
  ConfusionMatrix confusion(4);
  confusion.add(kTruth, kFound, -100);
  const ClassCounts counts = class_counts(confusion, kSets);
  const Grid grid{{3, 4}, {1.5, 0.5}};
  const auto of_regions = [&](const char* metric) {
    return test::distances(metric, kTruth, kFound, kSets, -100, grid);
  };
  for (std::size_t r = 1; r < kSets.size(); ++r) {
    CAPTURE(r);
    const Labels truth = mask_of(kTruth, kSets[r], kTruth),
                 found = mask_of(kFound, kSets[r], kTruth);
    std::int64_t both = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) both += truth[i] * found[i];
    CHECK(counts.truth[r] == std::count(truth.begin(), truth.end(), 1));
    CHECK(counts.predicted[r] == std::count(found.begin(), found.end(), 1));
    CHECK(counts.both[r] == both);
    for (const char* metric : {"hd95", "hd"}) {
      const double alone = test::distances(metric, truth, found, 2, -100, grid)[0];
      CHECK((of_regions(metric)[r - 1] == alone || std::isnan(alone)));
      CHECK(std::isnan(of_regions(metric)[r - 1]) == std::isnan(alone));
    }
  }
  CHECK(counts.truth[3] == 0);
  CHECK(std::isnan(of_regions("hd95")[2]));  // without truth
  // Of single labels both are what they were.
  const ClassCounts single = class_counts(confusion, {{0}, {1}, {2}, {3}});
  CHECK(single.both == class_counts(confusion).both);
  CHECK(single.truth == class_counts(confusion).truth);
}

TEST_CASE("regions: means are over the regions, an empty one as classes are", "[metrics]") {
  const std::vector<std::string> names = {"background", "whole", "core", "enhancing"};
  ConfusionMatrix confusion(4);
  confusion.add(kTruth, kFound, -100);
  const ClassCounts counts = class_counts(confusion, kSets);
  const auto measured = measure_regions(0.25, {counts}, names);
  const auto dice = [&](std::size_t r) {
    return 200.0 * static_cast<double>(counts.both[r]) /
           static_cast<double>(counts.truth[r] + counts.predicted[r]);
  };
  CHECK(value_of(measured, "loss") == 0.25);
  CHECK(value_of(measured, "pooled_dice") == Approx((dice(1) + dice(2) + dice(3)) / 3));
  CHECK(value_of(measured, "pooled_dice_enhancing") == 0);
  CHECK(value_of(measured, "pooled_dice_core") == Approx(dice(2)));
  // One that is predicted but not there is no case of a strict Dice.
  CaseMetrics asked{{"case_dice"}};
  const auto cases = measure_cases(asked, {{counts}}, names);
  CHECK(cases[0].compared == 3);
  CHECK(cases[0].undefined == 1);
  CHECK(cases[1].metric.info.name == "case_dice_whole");
  CHECK(cases[1].metric.value == Approx(dice(1)));

  const auto all = names_of(region_metrics(names));
  for (const char* none : {"miou", "accuracy", "mean_class_accuracy", "pooled_dice_background",
                           "pooled_iou_background"})
    CHECK(std::find(all.begin(), all.end(), none) == all.end());
  const auto general = names_of(region_metrics());
  CHECK(std::find(general.begin(), general.end(), "pooled_dice_*") != general.end());
  CHECK(std::find(general.begin(), general.end(), "accuracy") == general.end());
}
