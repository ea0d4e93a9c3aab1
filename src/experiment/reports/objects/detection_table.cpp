#include "experiment/reports/objects/detection_table.h"

#include "base/mask_runs.h"
#include "models/detectors/detector.h"

namespace fovea::experiment {

bool makes_masks(const models::Model& model) {
  const auto* detector = dynamic_cast<const models::Detector*>(&model);
  return detector != nullptr && detector->makes_masks();
}

ResultHeads detection_heads(bool masks) {
  ResultHeads heads{{"name", "file", "class", "class_index", "score", "x", "y", "width", "height"}};
  if (masks) heads.columns.emplace_back("mask_area");
  return heads;
}

std::vector<ResultRow> detection_rows(const std::string& name, const std::string& file,
                                      const std::vector<metrics::DetectedObject>& found,
                                      const std::vector<std::string>& classes, bool masks) {
  std::vector<ResultRow> rows;
  for (const metrics::DetectedObject& object : found) {
    ResultRow& row = rows.emplace_back(
        ResultRow{name, file, classes.at(static_cast<std::size_t>(object.label)), object.label,
                  object.score, object.box.x, object.box.y, object.box.width, object.box.height});
    if (masks) row.push_back(object.mask ? ResultCell(mask_area(*object.mask)) : ResultCell());
  }
  return rows;
}

}  // namespace fovea::experiment
