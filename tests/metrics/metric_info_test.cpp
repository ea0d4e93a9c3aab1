#include "metrics/metric_info.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "metrics/cases/case_metric.h"
#include "metrics/classification.h"
#include "metrics/label_maps.h"
#include "metrics/segmentation.h"

using namespace fovea::metrics;

namespace {

MetricInfo info_of(const char* case_metric) {
  return case_metric_entries().find(case_metric).info();
}

}  // namespace

TEST_CASE("metric info: values and titles for people", "[metrics]") {
  const MetricInfo distance{
      .name = "hd95_mm", .unit = "mm", .larger_is_better = false, .decimals = 1};
  CHECK(value_text(distance, 3.14159) == "3.1 mm");
  CHECK(value_text(kTop1, 84.3149) == "84.31 %");
  CHECK(value_text(kLoss, 0.5) == "0.5000");
  CHECK(value_text(kTop1, std::nan("")) == "-");
  CHECK(title_of(kTop1) == "top1 (%)");
  CHECK(title_of(kLoss) == "loss");
}

TEST_CASE("metric info: what is known beforehand is what is measured", "[metrics]") {
  CHECK(class_metrics(5) == std::vector<MetricInfo>{kLoss, kTop1});
  CHECK(class_metrics(6) == std::vector<MetricInfo>{kLoss, kTop1, kTop5});
  MaskCounts right, wrong;
  const std::vector<float> mask = {1, 0, 0, 1}, other = {0, 1, 1, 0};
  right.add(mask, mask);
  wrong.add(other, mask);
  const std::vector<Measurement> measured = measure_masks(0.25, {right, wrong});
  CHECK(infos_of(measured) == mask_metrics());
  for (const Measurement& metric : measured) {
    INFO(metric.info.name);
    CHECK(metric.per_sample.size() == (metric.info.per_sample ? 2 : 0));
    double sum = 0;
    for (const double value : metric.per_sample) sum += value;
    if (metric.info.per_sample) CHECK(sum / 2 == Approx(metric.value));
    CHECK(metric.info.larger_is_better != metric.info.is_loss);
    CHECK(find_metric(mask_metrics(), metric.info.name) != nullptr);
  }
  CHECK(value_of(measured, kLoss.name) == 0.25);
  CHECK(value_of(measured, kPooledDice.name) == Approx(100.0 * 4 / (4 + 4)));
  CHECK(std::isnan(value_of(measured, "none")));
  CHECK(find_metric(mask_metrics(), "none") == nullptr);
}

TEST_CASE("metric info: a sample is right among the first k by its rank", "[metrics]") {
  const std::vector<Measurement> measured = measure_classes(1, {0, 3, 5, 0}, 10);
  CHECK(measured[1].value == 50);
  CHECK(measured[1].per_sample == std::vector<double>{100, 0, 0, 100});
  CHECK(measured[2].value == 75);
  CHECK(measured[2].per_sample == std::vector<double>{100, 100, 0, 100});
}

TEST_CASE("metric info: an older name is understood, and the closest name stands for a class",
          "[metrics]") {
  const MetricInfo hd95 = info_of("hd95"), hd95_mm = info_of("hd95_mm");
  const std::vector<MetricInfo> known = {kPooledDice, kDicePerImage,   kClassDice,        hd95,
                                         hd95_mm,     per_class(hd95), per_class(hd95_mm)};
  for (const char* name : {"pooled_dice", "mean_dice", "dsc"})
    CHECK(current_name(known, name) == "pooled_dice");
  CHECK(current_name(known, "dice_liver") == "pooled_dice_liver");
  CHECK(current_name(known, "pooled_dice_liver") == "pooled_dice_liver");
  CHECK(current_name(known, "dice_per_image") == "dice_per_image");
  CHECK(current_name(known, "hd95_mm") == "hd95_mm");
  CHECK(current_name(known, "hd95_mm_liver") == "hd95_mm_liver");
  CHECK(named_metric(known, "hd95_mm_liver")->unit == "mm");
  CHECK(named_metric(known, "hd95_liver")->unit == "px");
  CHECK(current_name(known, "parameters") == "parameters");
  CHECK_FALSE(named_metric(known, "parameters"));
  CHECK(class_words({"background", "mm"}) == std::vector<std::string>{"background", "class_mm"});
}

TEST_CASE("metric info: what is left under noise is a share of 1 where less is better too",
          "[metrics]") {
  CHECK(retention(kPooledDice, 60, 80) == 0.75);
  CHECK(retention(info_of("hd95"), 12, 4) == Approx(1.0 / 3));  // three times as far is a third
}
