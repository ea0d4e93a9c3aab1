// Objects of an image as detection is scored: what is there, and what was found.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/mask_runs.h"
#include "tensor/tensor.h"

namespace fovea::metrics {

/// Upper left corner and size in pixels, COCO's form. In float64, and not as corners: overlaps are
/// then computed from the numbers that stand in COCO's files, and agree with pycocotools' to the
/// last digit.
struct ObjectBox {
  double x = 0, y = 0, width = 0, height = 0;

  double area() const { return width * height; }
  bool operator==(const ObjectBox&) const = default;
};

/// An object of the truth.
struct TruthObject {
  ObjectBox box;
  std::int64_t label = 0;
  double area = 0;  // in pixels, by which it is small, medium or large: of COCO, that of its mask
  bool crowd = false;  // a region of many objects: what is found in it counts neither way
  std::optional<MaskRuns> mask = {};
};

/// A detection.
struct DetectedObject {
  ObjectBox box;
  std::int64_t label = 0;
  double score = 0;
  std::optional<MaskRuns> mask = {};
};

/// From a sample's tensors on the host (data/batch.h): boxes (n, 4) float32 x1 y1 x2 y2, labels (n)
/// int64, crowd (n) uint8, area (n) float32; masks: none, or one for each object. Throws ShapeError
/// for other shapes.
std::vector<TruthObject> truth_objects(const Tensor& boxes, const Tensor& labels,
                                       const Tensor& crowd, const Tensor& area,
                                       std::vector<MaskRuns> masks = {});
/// From what a detector gives, on the host: boxes (n, 4) float32 x1 y1 x2 y2, scores (n) float32,
/// labels (n) int64; masks: none, or one for each detection. Throws ShapeError for other shapes.
std::vector<DetectedObject> detected_objects(const Tensor& boxes, const Tensor& scores,
                                             const Tensor& labels,
                                             std::vector<MaskRuns> masks = {});

/// What is laid over each other.
enum class Overlap { kBoxes, kMasks };

/// Throws ShapeError for a label outside [0, num_classes) and an object without the mask that
/// `overlap` needs; NumericError for a box, score or area that is not finite.
void check_objects(std::span<const TruthObject> truth, std::span<const DetectedObject> detections,
                   std::int64_t num_classes, Overlap overlap);
/// Width times height, or pixels of the mask.
double detected_area(const DetectedObject& detection, Overlap overlap);

/// Intersection over union; of a crowd, intersection over the area of the detection. 0 where the
/// two have nothing in common, boxes without area too.
double box_iou(const ObjectBox& detection, const ObjectBox& truth, bool crowd = false);
/// Of every detection (rows) with every object of the truth: (detections, truth) row-major. Throws
/// ShapeError for masks of different sizes.
std::vector<double> overlaps(std::span<const DetectedObject> detections,
                             std::span<const TruthObject> truth, Overlap overlap);

}  // namespace fovea::metrics
