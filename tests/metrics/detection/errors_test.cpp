#include "metrics/detection/errors.h"

#include <catch2/catch.hpp>

using namespace fovea;
using namespace fovea::metrics;
using enum fovea::metrics::DetectionKind;

namespace {

TruthObject there(std::int64_t label, ObjectBox box, bool crowd = false) {
  return {box, label, box.area(), crowd, {}};
}

DetectedObject seen(std::int64_t label, ObjectBox box, double score) {
  return {box, label, score, {}};
}

}  // namespace

TEST_CASE("detection errors: every kind", "[metrics]") {
  const std::vector<TruthObject> truth = {
      there(0, {0, 0, 10, 10}),          // found
      there(0, {20, 0, 10, 10}),         // found, but at another place
      there(1, {40, 0, 10, 10}),         // found as another class
      there(1, {60, 0, 10, 10}),         // missed: class and place are wrong
      there(0, {80, 0, 10, 10}),         // missed
      there(1, {0, 50, 40, 40}, true)};  // a crowd
  const std::vector<DetectedObject> detections = {
      seen(0, {0, 0, 10, 9}, 0.8),     // a better one has found it
      seen(0, {0, 0, 10, 10}, 0.9),    //
      seen(0, {20, 7, 10, 10}, 0.7),   // 3 of 17 rows
      seen(0, {40, 0, 10, 10}, 0.6),   //
      seen(0, {60, 6, 10, 10}, 0.5),   // 4 of 16 rows
      seen(0, {100, 100, 9, 9}, 0.4),  //
      seen(1, {5, 60, 8, 8}, 0.3),     // in the crowd
      seen(0, {80, 0, 10, 10}, 0.05),  // too low a score
      seen(0, {5, 60, 8, 8}, 0.3)};    // in a crowd of another class
  const DetectionErrors errors =
      detection_errors(truth, detections, 2, Overlap::kBoxes, {.least_score = 0.1});
  CHECK(errors.kinds == std::vector{kTwice, kFound, kPlace, kClass, kClassAndPlace, kBackground,
                                    kLeftOut, kLeftOut, kBackground});
  CHECK(errors.objects == std::vector<std::int64_t>{0, 0, 1, 2, 3, -1, -1, -1, -1});
  CHECK(errors.missed == std::vector<bool>{false, false, false, true, true, false});
  ErrorCounts counts;
  counts.add(errors);
  counts.add(errors);
  CHECK(counts.count(kFound) == 2);
  CHECK(counts.count(kBackground) == 4);
  CHECK(counts.missed == 4);
  CHECK(name_of(kClassAndPlace) == "class and place");
  // With all scores the fifth object is found.
  const DetectionErrors all = detection_errors(truth, detections, 2, Overlap::kBoxes);
  CHECK(all.kinds[7] == kFound);
  CHECK_FALSE(all.missed[4]);
}

TEST_CASE("detection errors: an image without objects or detections", "[metrics]") {
  const std::vector<TruthObject> truth = {there(0, {0, 0, 10, 10}), there(0, {5, 5, 9, 9}, true)};
  CHECK(detection_errors(truth, {}, 1, Overlap::kBoxes).missed == std::vector<bool>{true, false});
  const std::vector<DetectedObject> detections = {seen(0, {0, 0, 10, 10}, 0.5)};
  CHECK(detection_errors({}, detections, 1, Overlap::kBoxes).kinds == std::vector{kBackground});
}

TEST_CASE("detection errors: the highest score takes the object of the largest overlap",
          "[metrics]") {
  const std::vector<TruthObject> truth = {there(0, {0, 0, 10, 10}), there(0, {0, 2, 10, 10})};
  const std::vector<DetectedObject> detections = {
      seen(0, {0, 0, 10, 10}, 0.5), seen(0, {0, 1, 10, 10}, 0.6), seen(0, {0, 2, 10, 10}, 0.7)};
  const DetectionErrors errors = detection_errors(truth, detections, 1, Overlap::kBoxes);
  CHECK(errors.kinds == std::vector{kTwice, kFound, kFound});
  CHECK(errors.objects == std::vector<std::int64_t>{0, 0, 1});
}
