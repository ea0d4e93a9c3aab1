// Detections in COCO's format of results, which pycocotools' loadRes() and other tools score.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metrics/detection/objects.h"

namespace fovea::metrics {

/// A file of results, object by object: {"image_id", "category_id", "score"} and either "bbox" [x,
/// y, width, height] or "segmentation" {"size" [height, width], "counts" (the compressed string)}.
/// Boxes and masks are two files, as the two are scored: where an object of a file has a box,
/// pycocotools takes the area of its mask to be that of the box. Numbers have all their digits, so
/// that scores of the file are those of the detections.
class CocoResults {
 public:
  /// category_ids: the id of each label.
  CocoResults(Overlap overlap, std::vector<std::int64_t> category_ids);

  /// The objects of an image, a line each, without a comma behind the last; "" for none. Throws as
  /// check_objects().
  std::string lines_of(std::int64_t image_id, std::span<const DetectedObject> detections) const;
  /// What was found in an image. Throws as lines_of().
  void add(std::int64_t image_id, std::span<const DetectedObject> detections);
  /// The JSON list, an object a line.
  std::string text() const;

 private:
  Overlap overlap_;
  std::vector<std::int64_t> category_ids_;
  std::string lines_;
};

}  // namespace fovea::metrics
