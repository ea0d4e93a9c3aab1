// Objects of images as pictures show them.
#pragma once

#include <vector>

#include "metrics/detection/objects.h"
#include "visualise/layouts/detection.h"

namespace fovea::experiment {

/// What was found is drawn from this score on, where many boxes of low scores would hide it.
inline constexpr double kDrawnScore = 0.3;

std::vector<visualise::DrawnObject> drawn(const std::vector<metrics::TruthObject>& truth);
/// Those with at least that score.
std::vector<visualise::DrawnObject> drawn(const std::vector<metrics::DetectedObject>& found,
                                          double least = kDrawnScore);

}  // namespace fovea::experiment
