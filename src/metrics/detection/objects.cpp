#include "metrics/detection/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace fovea::metrics {
namespace {

void check_listed(const Tensor& boxes, const Tensor& values, const char* name,
                  const std::vector<MaskRuns>& masks) {
  FOVEA_CHECK(boxes.rank() == 2 && boxes.size(1) == 4, ShapeError,
              fmt::format("objects: boxes are {}; expected (n, 4)", to_string(boxes.shape())));
  FOVEA_CHECK(values.rank() == 1 && values.size(0) == boxes.size(0), ShapeError,
              fmt::format("objects: {} {}, boxes {}; expected one value for each box", name,
                          to_string(values.shape()), to_string(boxes.shape())));
  FOVEA_CHECK(masks.empty() || std::ssize(masks) == boxes.size(0), ShapeError,
              fmt::format("objects: {} masks, {} boxes", masks.size(), boxes.size(0)));
}

// The difference of two float32 numbers is exact in float64, but for very unequal ones.
ObjectBox box_of_corners(const float* corners) {
  const double x = corners[0], y = corners[1];
  return {x, y, corners[2] - x, corners[3] - y};
}

void check_box(const ObjectBox& box, const char* what, std::size_t index) {
  FOVEA_CHECK(
      std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.width) &&
          std::isfinite(box.height),
      NumericError,
      fmt::format("objects: the box of {} {} is not finite: x {}, y {}, width {}, height {}", what,
                  index, box.x, box.y, box.width, box.height));
}

template <class Object>
void check_object(const Object& object, const char* what, std::size_t index,
                  std::int64_t num_classes, Overlap overlap) {
  check_box(object.box, what, index);
  FOVEA_CHECK(object.label >= 0 && object.label < num_classes, ShapeError,
              fmt::format("objects: label {} of {} {}; expected 0..{}", object.label, what, index,
                          num_classes - 1));
  FOVEA_CHECK(overlap == Overlap::kBoxes || object.mask, ShapeError,
              fmt::format("objects: {} {} has no mask", what, index));
}

ObjectBox box_of(const MaskRuns& mask) {
  const MaskBox box = mask_box(mask);
  return {static_cast<double>(box.x), static_cast<double>(box.y), static_cast<double>(box.width),
          static_cast<double>(box.height)};
}

}  // namespace

std::vector<TruthObject> truth_objects(const Tensor& boxes, const Tensor& labels,
                                       const Tensor& crowd, const Tensor& area,
                                       std::vector<MaskRuns> masks) {
  check_listed(boxes, labels, "labels", masks);
  check_listed(boxes, crowd, "crowd", masks);
  check_listed(boxes, area, "area", masks);
  const auto corners = boxes.host_values<float>();
  const auto classes = labels.host_values<std::int64_t>();
  const auto crowds = crowd.host_values<std::uint8_t>();
  const auto areas = area.host_values<float>();
  std::vector<TruthObject> objects(static_cast<std::size_t>(boxes.size(0)));
  for (std::size_t i = 0; i < objects.size(); ++i) {
    objects[i] = {box_of_corners(corners.data() + 4 * i), classes[i], areas[i], crowds[i] != 0, {}};
    if (!masks.empty()) objects[i].mask = std::move(masks[i]);
  }
  return objects;
}

std::vector<DetectedObject> detected_objects(const Tensor& boxes, const Tensor& scores,
                                             const Tensor& labels, std::vector<MaskRuns> masks) {
  check_listed(boxes, scores, "scores", masks);
  check_listed(boxes, labels, "labels", masks);
  const auto corners = boxes.host_values<float>();
  const auto values = scores.host_values<float>();
  const auto classes = labels.host_values<std::int64_t>();
  std::vector<DetectedObject> objects(static_cast<std::size_t>(boxes.size(0)));
  for (std::size_t i = 0; i < objects.size(); ++i) {
    objects[i] = {box_of_corners(corners.data() + 4 * i), classes[i], values[i], {}};
    if (!masks.empty()) objects[i].mask = std::move(masks[i]);
  }
  return objects;
}

void check_objects(std::span<const TruthObject> truth, std::span<const DetectedObject> detections,
                   std::int64_t num_classes, Overlap overlap) {
  for (std::size_t i = 0; i < truth.size(); ++i) {
    check_object(truth[i], "object", i, num_classes, overlap);
    FOVEA_CHECK(std::isfinite(truth[i].area), NumericError,
                fmt::format("objects: the area of object {} is {}", i, truth[i].area));
  }
  for (std::size_t i = 0; i < detections.size(); ++i) {
    check_object(detections[i], "detected object", i, num_classes, overlap);
    FOVEA_CHECK(std::isfinite(detections[i].score), NumericError,
                fmt::format("objects: the score of detection {} is {}", i, detections[i].score));
  }
}

double detected_area(const DetectedObject& detection, Overlap overlap) {
  return overlap == Overlap::kBoxes ? detection.box.area()
                                    : static_cast<double>(mask_area(*detection.mask));
}

double box_iou(const ObjectBox& detection, const ObjectBox& truth, bool crowd) {
  const double width = std::min(detection.width + detection.x, truth.width + truth.x) -
                       std::max(detection.x, truth.x);
  const double height = std::min(detection.height + detection.y, truth.height + truth.y) -
                        std::max(detection.y, truth.y);
  if (width <= 0 || height <= 0) return 0;
  const double common = width * height;
  // Above 0, since what they have in common is.
  return common / (crowd ? detection.area() : detection.area() + truth.area() - common);
}

std::vector<double> overlaps(std::span<const DetectedObject> detections,
                             std::span<const TruthObject> truth, Overlap overlap) {
  std::vector<double> result;
  result.reserve(detections.size() * truth.size());
  if (overlap == Overlap::kBoxes) {
    for (const DetectedObject& detection : detections) {
      for (const TruthObject& object : truth)
        result.push_back(box_iou(detection.box, object.box, object.crowd));
    }
    return result;
  }
  // Masks whose boxes are apart need not be compared.
  std::vector<ObjectBox> boxes;
  for (const TruthObject& object : truth) boxes.push_back(box_of(*object.mask));
  for (const DetectedObject& detection : detections) {
    const ObjectBox own = box_of(*detection.mask);
    for (std::size_t g = 0; g < truth.size(); ++g) {
      const bool near = box_iou(own, boxes[g]) > 0;
      result.push_back(near ? mask_iou(*detection.mask, *truth[g].mask, truth[g].crowd) : 0);
    }
  }
  return result;
}

}  // namespace fovea::metrics
