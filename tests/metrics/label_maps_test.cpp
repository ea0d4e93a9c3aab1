#include "metrics/label_maps.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "backend/devices.h"
#include "base/error.h"

using namespace fovea;
using namespace fovea::metrics;

namespace {

constexpr std::int64_t kIgnore = -100;
constexpr std::int64_t kClasses = 4;

// Three images of 40 pixels; the last one has no class 3, every eleventh pixel is ignored.
ConfusionMatrix image(std::int64_t number) {
  std::vector<std::int64_t> truth, predicted;
  for (std::int64_t i = 0; i < 40; ++i) {
    std::int64_t t = (i * 7 + i * i / 5 + number) % kClasses;
    std::int64_t p = i % 3 == 0 ? t : (i * 5 + 1) % kClasses;
    if (number == 2) {
      t = t == 3 ? 0 : t;
      p = p == 3 ? 0 : p;
    }
    truth.push_back(i % 11 == 0 ? kIgnore : t);
    predicted.push_back(p);
  }
  ConfusionMatrix confusion(kClasses);
  confusion.add(truth, predicted, kIgnore);
  return confusion;
}

ClassCounts counts_of(const std::vector<std::int64_t>& truth,
                      const std::vector<std::int64_t>& predicted, std::int64_t classes) {
  ConfusionMatrix confusion(classes);
  confusion.add(truth, predicted, kIgnore);
  return class_counts(confusion);
}

double value(const std::vector<Measurement>& measured, const std::string& name) {
  REQUIRE(find_metric(infos_of(measured), name) != nullptr);
  return value_of(measured, name);
}

}  // namespace

// scikit-learn 1.9 of the same numbers: confusion_matrix, f1_score, jaccard_score, accuracy_score.
TEST_CASE("label maps: Dice, IoU and accuracy of each class are scikit-learn's", "[metrics]") {
  ConfusionMatrix all(kClasses);
  std::vector<ClassCounts> images;
  for (std::int64_t n = 0; n < 3; ++n) {
    all.add(image(n));
    images.push_back(class_counts(image(n)));
  }
  CHECK(all.counts() ==
        std::vector<std::int64_t>{23, 6, 7, 0, 2, 13, 7, 3, 5, 4, 13, 6, 3, 2, 2, 12});
  const std::vector<double> dice = class_dice(class_counts(all)),
                            iou = class_iou(class_counts(all));
  const std::vector<double> f1 = {0.6666666666666666, 0.52, 0.45614035087719296, 0.6};
  const std::vector<double> jaccard = {0.5, 0.35135135135135137, 0.29545454545454547,
                                       0.42857142857142855};
  for (std::size_t c = 0; c < 4; ++c) {
    CHECK(dice[c] == Approx(f1[c]).epsilon(1e-14));
    CHECK(iou[c] == Approx(jaccard[c]).epsilon(1e-14));
  }
  const std::vector<std::string> names = {"background", "a", "left ventricle", "b"};
  const auto measured = measure_label_maps(0.5, images, names);
  CHECK(infos_of(measured) == label_map_metrics(names));
  CHECK(value(measured, "loss") == 0.5);
  CHECK(value(measured, "pooled_dice") == Approx(52.53801169590643));
  CHECK(value(measured, "miou") == Approx(39.384433134433133));
  CHECK(value(measured, "accuracy") == Approx(56.48148148148148));
  // Of the counts above.
  CHECK(value(measured, "mean_class_accuracy") ==
        Approx(100 * (23.0 / 36 + 13.0 / 25 + 13.0 / 28 + 12.0 / 19) / 4));
  CHECK(current_name(infos_of(measured), "mAcc") == "mean_class_accuracy");
  CHECK(current_name(infos_of(measured), "aAcc") == "accuracy");
  CHECK(current_name(infos_of(measured), "mIoU") == "miou");
  CHECK(value(measured, "pooled_dice_left_ventricle") == Approx(45.614035087719296));
  CHECK(value(measured, "pooled_iou_background") == Approx(50));
  // numpy: of every image the mean over the foreground classes that occur.
  const std::vector<double> per_image = {38.1964573268921, 52.18360071301248, 66.66666666666666};
  const Measurement* dices = nullptr;
  for (const Measurement& m : measured) {
    if (m.info == kDicePerImage) dices = &m;
  }
  REQUIRE(dices != nullptr);
  REQUIRE(dices->per_sample.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(dices->per_sample[i] == Approx(per_image[i]));
  CHECK(dices->value == Approx((per_image[0] + per_image[1] + per_image[2]) / 3));
  CHECK(value(measured, "iou_per_image") ==
        Approx(100 * (0.23911273911273911 + 0.376984126984127 + 0.5) / 3));
}

TEST_CASE("label maps: of two classes they are the metrics of masks", "[metrics]") {
  const std::vector<std::vector<std::int64_t>> truths = {
      {0, 1, 1, 0, 0, 1}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {1, 1, 0, 0, 0, 0}};
  const std::vector<std::vector<std::int64_t>> guesses = {
      {0, 1, 0, 1, 0, 1}, {0, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 0}};
  std::vector<MaskCounts> masks;
  std::vector<ClassCounts> labels;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    masks.emplace_back();
    masks.back().add(std::vector<float>(guesses[i].begin(), guesses[i].end()),
                     std::vector<float>(truths[i].begin(), truths[i].end()));
    labels.push_back(counts_of(truths[i], guesses[i], 2));
  }
  const auto binary = measure_masks(0, masks);
  const auto several = measure_label_maps(0, labels, {"background", "foreground"});
  CHECK(value(several, "pooled_dice") == Approx(value(binary, "pooled_dice")));
  for (const char* name : {"miou", "accuracy", "dice_per_image", "iou_per_image"})
    CHECK(value(several, name) == Approx(value(binary, name)));
}

TEST_CASE("label maps: a class that is in neither is left out", "[metrics]") {
  const ClassCounts counts = counts_of({0, 0, 1, kIgnore}, {0, 0, 1, 2}, 3);
  CHECK(std::isnan(class_dice(counts)[2]));
  CHECK(std::isnan(class_iou(counts)[2]));
  CHECK(class_mean(class_dice(counts), 1, Empty::kOne) == 1);
  const ClassCounts nothing = counts_of({0, 0}, {0, 0}, 3);
  CHECK(class_mean(class_dice(nothing), 1, Empty::kOne) == 1);
  CHECK(class_mean(class_dice(nothing), 1, Empty::kZero) == 0);
  CHECK(std::isnan(class_mean(class_dice(nothing), 1, Empty::kLeftOut)));
  const ClassCounts invented = counts_of({0, 0}, {0, 2}, 3);
  CHECK(class_mean(class_dice(invented), 1, Empty::kOne) == 0);
  const auto measured = measure_label_maps(0, {counts, nothing}, {"a", "b", "c"});
  CHECK(std::isnan(value(measured, "pooled_dice_c")));
  CHECK(value(measured, "mean_class_accuracy") == 100);
  CHECK(coverage_text(measured[4].coverage) == " (2/3)");
  CHECK(value(measured, "pooled_dice") == 100);
  CHECK(value(measured, "dice_per_image") == 100);
}

TEST_CASE("label maps: an image without a pixel that counts is left out of means", "[metrics]") {
  const ClassCounts half = counts_of({1, 1, 0, 0}, {1, 0, 0, 0}, 2);
  const ClassCounts ignored = counts_of({kIgnore, kIgnore}, {1, 0}, 2);
  const std::vector<std::string> names = {"a", "b"};
  for (const auto& measure : {measure_label_maps, measure_regions}) {
    const auto with = measure(0, {half, ignored}, names, {}),
               without = measure(0, {half}, names, {});
    CHECK(value(with, "dice_per_image") == value(without, "dice_per_image"));
    CHECK(value(with, "iou_per_image") == value(without, "iou_per_image"));
    const auto found = std::find_if(
        with.begin(), with.end(), [](const Measurement& one) { return one.info == kDicePerImage; });
    REQUIRE(found != with.end());
    CHECK(coverage_text(found->coverage) == " (1/2)");
    CHECK(std::isnan(found->per_sample[1]));
  }
}

TEST_CASE("label maps: the largest logit, the first of equals, NaN below all", "[metrics]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Device cpu = make_cpu(1);
  // Two items of three classes and 1 x 2 pixels.
  const Tensor logits =
      Tensor::from<float>({1, 2, 3, 2, 0, 2, /**/ nan, -5, -7, nan, nan, -4}, {2, 3, 1, 2}, cpu);
  const Tensor labels = predicted_labels(logits);
  CHECK(labels.shape() == Shape{2, 1, 2});
  const auto values = labels.values<std::int64_t>();
  CHECK(std::vector<std::int64_t>(values.begin(), values.end()) ==
        std::vector<std::int64_t>{1, 0, 1, 2});
  CHECK_THROWS_AS(predicted_labels(Tensor::from<float>({1, 2}, {1, 2}, cpu)), ShapeError);
}

TEST_CASE("label maps: metrics are called by the classes, no two alike", "[metrics]") {
  CHECK(class_words({"background", "left ventricle", "left_ventricle", "per_image", "1"}) ==
        std::vector<std::string>{"background", "left_ventricle", "left_ventricle_2", "per_image_3",
                                 "1"});
  const auto known = label_map_metrics();
  const MetricInfo* of_class = find_metric(known, "dice_liver");
  REQUIRE(of_class != nullptr);
  CHECK(is_of_classes(*of_class));
  CHECK(of_class->unit == "%");
  CHECK_FALSE(is_of_classes(*find_metric(known, "dice_per_image")));
  CHECK(find_metric(known, "dise_liver") == nullptr);
}

TEST_CASE("confusion matrix: values out of range and other sizes are refused", "[metrics]") {
  ConfusionMatrix confusion(2);
  const auto add = [&](std::vector<std::int64_t> truth, std::vector<std::int64_t> predicted) {
    confusion.add(truth, predicted, kIgnore);
  };
  CHECK_THROWS_AS(add({0, -1}, {0, 0}), ShapeError);
  CHECK_THROWS_AS(add({0, 1}, {0, 2}), ShapeError);
  CHECK_THROWS_AS(add({0}, {0, 0}), ShapeError);
  CHECK_NOTHROW(add({kIgnore}, {7}));
  CHECK_THROWS_AS(confusion.add(ConfusionMatrix(3)), ShapeError);
}
