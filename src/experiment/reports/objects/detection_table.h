// The table of what detectors find: a row for each object.
#pragma once

#include <string>
#include <vector>

#include "experiment/reports/result_line.h"
#include "metrics/detection/objects.h"
#include "models/model.h"

namespace fovea::experiment {

/// Whether a network is a detector that makes masks.
bool makes_masks(const models::Model& model);

/// "name,file,class,class_index,score,x,y,width,height" and, of masks, ",mask_area".
ResultHeads detection_heads(bool masks);
/// What stands below them, a row for each object of one file.
std::vector<ResultRow> detection_rows(const std::string& name, const std::string& file,
                                      const std::vector<metrics::DetectedObject>& found,
                                      const std::vector<std::string>& classes, bool masks);

}  // namespace fovea::experiment
