#include "experiment/reports/objects/detection_table.h"

#include <fmt/format.h>

#include "base/csv_field.h"
#include "base/mask_runs.h"
#include "models/detectors/detector.h"

namespace fovea::experiment {

bool makes_masks(const models::Model& model) {
  const auto* detector = dynamic_cast<const models::Detector*>(&model);
  return detector != nullptr && detector->makes_masks();
}

std::string detection_heads(bool masks) {
  return std::string("name,file,class,class_index,score,x,y,width,height") +
         (masks ? ",mask_area" : "");
}

std::string detection_lines(const std::string& name, const std::string& file,
                            const std::vector<metrics::DetectedObject>& found,
                            const std::vector<std::string>& classes, bool masks) {
  std::string lines;
  for (const metrics::DetectedObject& object : found) {
    lines +=
        fmt::format("{},{},{},{},{},{},{},{},{}", csv_field(name), csv_field(file),
                    csv_field(classes.at(static_cast<std::size_t>(object.label))), object.label,
                    object.score, object.box.x, object.box.y, object.box.width, object.box.height);
    if (masks) lines += object.mask ? fmt::format(",{}", mask_area(*object.mask)) : ",";
    lines += "\n";
  }
  return lines;
}

}  // namespace fovea::experiment
