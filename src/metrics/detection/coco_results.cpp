#include "metrics/detection/coco_results.h"

#include <utility>

#include "schema/json/value.h"

namespace fovea::metrics {

using schema::Value;

CocoResults::CocoResults(Overlap overlap, std::vector<std::int64_t> category_ids)
    : overlap_(overlap), category_ids_(std::move(category_ids)) {}

std::string CocoResults::lines_of(std::int64_t image_id,
                                  std::span<const DetectedObject> detections) const {
  check_objects({}, detections, std::ssize(category_ids_), overlap_);
  std::string lines;
  for (const DetectedObject& found : detections) {
    Value result =
        Value::object({{"image_id", image_id},
                       {"category_id", category_ids_[static_cast<std::size_t>(found.label)]}});
    if (overlap_ == Overlap::kMasks) {
      const MaskRuns& mask = *found.mask;
      result.set("segmentation", Value::object({{"size", Value::array({mask.height, mask.width})},
                                                {"counts", mask_string(mask)}}));
    } else {
      const ObjectBox& box = found.box;
      result.set("bbox", Value::array({box.x, box.y, box.width, box.height}));
    }
    result.set("score", found.score);
    lines += (lines.empty() ? "" : ",\n") + result.dump(0);
  }
  return lines;
}

void CocoResults::add(std::int64_t image_id, std::span<const DetectedObject> detections) {
  const std::string lines = lines_of(image_id, detections);
  if (!lines.empty()) lines_ += (lines_.empty() ? "" : ",\n") + lines;
}

std::string CocoResults::text() const { return "[" + lines_ + "]\n"; }

}  // namespace fovea::metrics
