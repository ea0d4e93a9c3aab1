#include "metrics/classes/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fovea::metrics {
namespace {

double bound(std::int64_t bin) {
  return static_cast<double>(bin) / static_cast<double>(kCalibrationBins);
}

// The sum over the bins of |accuracy - confidence|, by their shares of the samples.
std::vector<double> calibration_error(const ClassPredictions& predictions) {
  double error = 0;
  std::int64_t samples = 0;
  for (const CalibrationBin& bin : calibration_bins(predictions)) {
    if (bin.samples == 0) continue;
    error += static_cast<double>(bin.samples) * std::abs(bin.accuracy - bin.confidence);
    samples += bin.samples;
  }
  const bool all = samples > 0 && samples == predictions.size();
  return {all ? error / static_cast<double>(samples) : std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace

std::vector<CalibrationBin> calibration_bins(const ClassPredictions& predictions) {
  std::vector<CalibrationBin> bins;
  for (std::int64_t b = 0; b < kCalibrationBins; ++b)
    bins.push_back({.low = bound(b), .high = bound(b + 1)});
  for (std::int64_t i = 0; i < predictions.size(); ++i) {
    const auto place = static_cast<std::size_t>(i);
    const auto predicted = static_cast<std::size_t>(predictions.predictions[place]);
    const double confidence = predictions.row(i)[predicted];
    if (std::isnan(confidence)) continue;
    const auto bin = std::ranges::find_if(
        bins, [&](const CalibrationBin& one) { return confidence <= one.high; });
    CalibrationBin& own = bin == bins.end() ? bins.back() : *bin;
    ++own.samples;
    own.confidence += confidence;
    own.accuracy += predictions.labels[place] == predictions.predictions[place] ? 1 : 0;
  }
  for (CalibrationBin& bin : bins) {
    // 0 / 0 is NaN.
    bin.confidence /= static_cast<double>(bin.samples);
    bin.accuracy /= static_cast<double>(bin.samples);
  }
  return bins;
}

FOVEA_CLASS_SCORE(ece,
                  "expected calibration error: mean distance between the probability of the "
                  "predicted class and how often it is right, over 15 bins of equal width",
                  {.values = calibration_error,
                   .larger_is_better = false,
                   .undefined_for = "probabilities that are not numbers"})

}  // namespace fovea::metrics
