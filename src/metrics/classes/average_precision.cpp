#include <limits>

#include "metrics/classes/ranked_samples.h"

namespace fovea::metrics {
namespace {

// The sum over thresholds of precision times the gain in recall, as scikit-learn has it: without
// interpolation.
double average(const std::vector<RankedSamples>& ranked) {
  double sum = 0;
  std::int64_t positives = 0, samples = 0;
  for (const RankedSamples& equal : ranked) {
    positives += equal.positives;
    samples += equal.positives + equal.negatives;
    sum += static_cast<double>(equal.positives) * static_cast<double>(positives) /
           static_cast<double>(samples);
  }
  return positives == 0 ? std::numeric_limits<double>::quiet_NaN()
                        : sum / static_cast<double>(positives);
}

std::vector<double> averages(const ClassPredictions& predictions) {
  return one_versus_rest(predictions, average);
}

}  // namespace

FOVEA_CLASS_SCORE(average_precision,
                  "mean precision over the steps of recall of the second of two classes, or of "
                  "more the mean over the classes, each against all others",
                  {.values = averages, .undefined_for = "classes without samples"})

}  // namespace fovea::metrics
