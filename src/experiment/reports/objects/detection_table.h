// predictions.csv of detectors: a line for each object.
#pragma once

#include <string>
#include <vector>

#include "metrics/detection/objects.h"
#include "models/model.h"

namespace fovea::experiment {

/// Whether a network is a detector that makes masks.
bool makes_masks(const models::Model& model);

/// Lines of predictions.csv for one file, each with its end, below detection_heads():
/// "name,file,class,class_index,score,x,y,width,height" and, of masks, ",mask_area".
std::string detection_heads(bool masks);
std::string detection_lines(const std::string& name, const std::string& file,
                            const std::vector<metrics::DetectedObject>& found,
                            const std::vector<std::string>& classes, bool masks);

}  // namespace fovea::experiment
