// How far the probability of the predicted class, the confidence, says how often it is right
// (Guo et al., On Calibration of Modern Neural Networks, 2017).
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/classes/class_score.h"

namespace fovea::metrics {

inline constexpr std::int64_t kCalibrationBins = 15;  // of equal width

/// Samples whose confidence lies above `low` and is at most `high`.
struct CalibrationBin {
  double low = 0, high = 0;
  std::int64_t samples = 0;
  double confidence = 0, accuracy = 0;  // means, shares of 1; NaN without samples
};
/// All bins from 0 to 1. Samples whose confidence is NaN are in none.
std::vector<CalibrationBin> calibration_bins(const ClassPredictions& predictions);

}  // namespace fovea::metrics
