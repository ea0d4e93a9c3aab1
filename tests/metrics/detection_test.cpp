// Expected numbers are those of pycocotools 2.0.11 for the same objects.
#include "metrics/detection.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

using namespace fovea;
using namespace fovea::metrics;

namespace {

constexpr std::int64_t kHeight = 180, kWidth = 200, kDetected = 3;

TruthObject object(std::int64_t label, ObjectBox box, double area, bool crowd = false) {
  return {box, label, area, crowd, {}};
}

DetectedObject found(std::int64_t label, ObjectBox box, double score) {
  return {box, label, score, {}};
}

struct Image {
  std::vector<TruthObject> truth;
  std::vector<DetectedObject> detections;
};

// A crowd, equal scores, an area at the border of two ranges, an image without objects; class 2 is
// found and never there, and nothing is large.
std::vector<Image> images() {
  return {
      {{object(0, {35, 116, 58, 31}, 1798), object(0, {32, 93, 13, 14}, 1024),
        object(1, {60, 46, 61, 63}, 3843), object(1, {154, 125, 10, 14}, 140)},
       {found(1, {60, 46, 61, 63}, 0.375), found(0, {38, 89, 11, 16}, 0.25),
        found(1, {91, 96, 71, 30}, 0.125), found(0, {64, 16, 70, 69}, 0.375),
        found(1, {159, 127, 5, 19}, 0.875), found(0, {28, 112, 65, 33}, 0.125),
        found(0, {32, 93, 13, 14}, 0.875)}},
      {{object(1, {58, 64, 59, 95}, 5605, true), object(1, {76, 85, 51, 46}, 2346),
        object(1, {101, 108, 54, 38}, 2052)},
       {found(0, {96, 93, 65, 42}, 0.125), found(1, {103, 107, 52, 40}, 0.875),
        found(1, {108, 110, 53, 38}, 0.125), found(1, {99, 110, 54, 36}, 0.75),
        found(0, {23, 95, 72, 79}, 0.625), found(1, {101, 108, 54, 38}, 0.25)}},
      {{}, {found(0, {40, 68, 57, 31}, 0.5), found(2, {73, 8, 57, 70}, 0.25)}},
      {{object(0, {22, 54, 70, 88}, 6160), object(1, {102, 23, 35, 58}, 2030)},
       {found(0, {20, 54, 68, 89}, 0.625), found(1, {98, 28, 35, 59}, 0.75),
        found(2, {22, 54, 70, 88}, 0.25), found(1, {100, 29, 31, 53}, 0.625)}},
  };
}

MaskRuns filled(const ObjectBox& box) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(kHeight * kWidth));
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) {
      const double right = static_cast<double>(x), down = static_cast<double>(y);
      pixels[static_cast<std::size_t>(y * kWidth + x)] =
          right >= box.x && right < box.x + box.width && down >= box.y && down < box.y + box.height;
    }
  }
  return encode_mask(pixels, kHeight, kWidth);
}

DetectionScores scores_of(const std::vector<Image>& all, Overlap overlap = Overlap::kBoxes,
                          const MaxDetections& most = kCocoMaxDetections) {
  DetectionEvaluation evaluation(kDetected, overlap, most);
  for (const Image& image : all) evaluation.add(image.truth, image.detections);
  return evaluation.scores();
}

// pycocotools adds 2e-16 to a denominator.
void check_near(double got, double expected) { CHECK(std::abs(got - expected) < 1e-12); }

constexpr std::array<double, 12> kExpected = {0.41109146628948606,
                                              0.5003536067892502,
                                              0.3622112211221122,
                                              0.4999999999999999,
                                              0.5201320132013201,
                                              -1,
                                              0.44666666666666666,
                                              0.64,
                                              0.64,
                                              0.5,
                                              0.7,
                                              -1};

void check_numbers(const DetectionScores& scores) {
  const std::array<double, 12> numbers = coco_numbers(scores);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    INFO(i);
    if (kExpected[i] < 0)
      CHECK(std::isnan(numbers[i]));
    else
      check_near(numbers[i], kExpected[i]);
  }
}

}  // namespace

TEST_CASE("detection: COCO's twelve numbers are pycocotools'", "[metrics]") {
  const DetectionScores scores = scores_of(images());
  check_numbers(scores);
  check_near(scores.average_precision(0), 0.6048090523338049);
  check_near(scores.average_precision(1), 0.21737388024516735);
  CHECK(std::isnan(scores.average_precision(2)));
  const std::vector<double> curve = {1,
                                     1,
                                     1,
                                     1,
                                     0.6666666666666666,
                                     0.6666666666666666,
                                     0.6666666666666666,
                                     0.42857142857142855,
                                     0.42857142857142855,
                                     0.42857142857142855,
                                     0.42857142857142855};
  for (std::size_t i = 0; i < curve.size(); ++i)
    check_near(scores.precision(0, 2)[10 * i], curve[i]);
  for (std::size_t t = 0; t < kOverlapThresholds; ++t)
    check_near(scores.recall(1, t), t < 4 ? 0.6 : 0.4);
  CHECK(scores.objects(0) == 3);
  CHECK(scores.objects(1) == 5);
  // An area of 32 x 32 is small and medium.
  CHECK(scores.objects(0, AreaRange::kSmall) == 1);
  CHECK(scores.objects(0, AreaRange::kMedium) == 3);
  CHECK(scores.objects(2) == 0);
}

TEST_CASE("detection: masks that fill their boxes score as the boxes", "[metrics]") {
  std::vector<Image> all = images();
  for (Image& image : all) {
    for (TruthObject& one : image.truth) one.mask = filled(one.box);
    for (DetectedObject& one : image.detections) {
      one.mask = filled(one.box);
      one.box = {};  // not looked at
    }
  }
  check_numbers(scores_of(all, Overlap::kMasks));
}

TEST_CASE("detection: the truth itself scores 1", "[metrics]") {
  std::vector<Image> all = images();
  for (Image& image : all) {
    image.detections.clear();
    for (const TruthObject& one : image.truth)
      image.detections.push_back(found(one.label, one.box, 0.5));
  }
  const std::array<double, 12> numbers = coco_numbers(scores_of(all));
  for (const std::size_t i : {0, 1, 2, 3, 4, 8, 9, 10}) CHECK(numbers[i] == 1);
}

TEST_CASE("detection: without truth nothing is defined, without detections all is 0", "[metrics]") {
  std::vector<Image> all = images();
  for (Image& image : all) image.truth.clear();
  for (const double number : coco_numbers(scores_of(all))) CHECK(std::isnan(number));
  for (const double number : coco_numbers(scores_of({}))) CHECK(std::isnan(number));
  all = images();
  for (Image& image : all) image.detections.clear();
  for (const double number : coco_numbers(scores_of(all)))
    CHECK((std::isnan(number) || number == 0));
  CHECK(coco_numbers(scores_of(all))[0] == 0);
}

TEST_CASE("detection: only the highest scores of an image and class count", "[metrics]") {
  // Ten false ones come before the right one.
  Image image{{object(0, {10, 10, 20, 20}, 400)}, {}};
  for (int i = 0; i < 10; ++i) image.detections.push_back(found(0, {90, 90, 9, 9}, 0.9));
  image.detections.push_back(found(0, {10, 10, 20, 20}, 0.8));
  CHECK(coco_numbers(scores_of({image}))[7] == 0);
  CHECK(coco_numbers(scores_of({image}))[8] == 1);
  CHECK(coco_numbers(scores_of({image}))[0] == Approx(1.0 / 11));
  const DetectionScores few = scores_of({image}, Overlap::kBoxes, {1, 2, 5});
  CHECK(coco_numbers(few)[0] == 0);
  CHECK(coco_numbers(few)[8] == 0);
  CHECK_THROWS_AS(DetectionEvaluation(1, Overlap::kBoxes, {1, 1, 5}), ConfigError);
  CHECK_THROWS_AS(DetectionEvaluation(1, Overlap::kBoxes, {0, 1, 5}), ConfigError);
}

TEST_CASE("detection: boxes without area match nothing", "[metrics]") {
  const Image image{{object(0, {10, 10, 0, 20}, 0)}, {found(0, {10, 10, 0, 20}, 0.9)}};
  CHECK(coco_numbers(scores_of({image}))[0] == 0);
  CHECK(box_iou({10, 10, 0, 20}, {10, 10, 0, 20}) == 0);
  CHECK(box_iou({0, 0, 10, 10}, {5, 0, 10, 20}) == Approx(50.0 / 250));
  CHECK(box_iou({0, 0, 10, 10}, {5, 0, 10, 20}, true) == 0.5);
}

TEST_CASE("detection: measurements are in percent and say how many classes they are of",
          "[metrics]") {
  const DetectionScores scores = scores_of(images());
  const std::vector<std::string> names = {"cell", "small", "mm"};
  const auto measured = measure_detections(scores, Overlap::kBoxes, names);
  CHECK(infos_of(measured) == detection_metrics(Overlap::kBoxes, names));
  CHECK(value_of(measured, "ap") == Approx(100 * kExpected[0]));
  CHECK(value_of(measured, "ap50") == Approx(100 * kExpected[1]));
  CHECK(value_of(measured, "ap75") == Approx(100 * kExpected[2]));
  CHECK(value_of(measured, "ap_small") == Approx(100 * kExpected[3]));
  CHECK(std::isnan(value_of(measured, "ap_large")));
  CHECK(value_of(measured, "ar1") == Approx(100 * kExpected[6]));
  CHECK(value_of(measured, "ar_medium") == Approx(100 * kExpected[10]));
  CHECK(value_of(measured, "ap_cell") == Approx(60.48090523338049));
  // The class called "small".
  CHECK(value_of(measured, "ap_small_1") == Approx(21.737388024516735));
  CHECK(std::isnan(value_of(measured, "ap_class_mm")));
  CHECK(coverage_text(measured[0].coverage) == " (2/3)");
  CHECK(coverage_text(measured[5].coverage) == " (0/3)");
  for (const Measurement& one : measured) {
    CHECK(one.info.unit == "%");
    CHECK(one.info.larger_is_better);
  }
  const auto masks = detection_metrics(Overlap::kMasks);
  CHECK(masks.size() == 13);
  CHECK(masks.front().name == "mask_ap");
  CHECK(find_metric(masks, "mask_ap_cell")->name == "mask_ap_*");
  CHECK(find_metric(masks, "mask_ap_small")->name == "mask_ap_small");
  CHECK(detection_metrics(Overlap::kBoxes, {}, {1, 10, 500})[8].name == "ar500");
}

TEST_CASE("detection: what cannot be scored is refused", "[metrics]") {
  DetectionEvaluation boxes(2, Overlap::kBoxes), masks(2, Overlap::kMasks);
  const std::vector<TruthObject> none;
  const auto detect = [&](DetectionEvaluation& evaluation, const DetectedObject& one) {
    evaluation.add(none, std::vector{one});
  };
  CHECK_THROWS_AS(detect(boxes, found(2, {0, 0, 1, 1}, 0.5)), ShapeError);
  CHECK_THROWS_AS(detect(boxes, found(-1, {0, 0, 1, 1}, 0.5)), ShapeError);
  CHECK_THROWS_AS(detect(boxes, found(0, {0, NAN, 1, 1}, 0.5)), NumericError);
  CHECK_THROWS_WITH(detect(boxes, found(0, {0, 0, 1, 1}, NAN)),
                    "objects: the score of detection 0 is nan");
  CHECK_THROWS_WITH(detect(masks, found(0, {0, 0, 1, 1}, 0.5)),
                    "objects: detected object 0 has no mask");
  CHECK_THROWS_AS(boxes.add(std::vector{object(2, {0, 0, 1, 1}, 1)}, {}), ShapeError);
  CHECK_THROWS_AS(boxes.add(std::vector{object(0, {0, 0, 1, 1}, INFINITY)}, {}), NumericError);
}
