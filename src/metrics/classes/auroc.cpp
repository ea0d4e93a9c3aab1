#include "metrics/classes/ranked_samples.h"

namespace fovea::metrics {
namespace {

// The share of pairs of a positive and a negative in which the positive has the higher
// probability; equal ones count half. 0 / 0 is NaN.
double area(const std::vector<RankedSamples>& ranked) {
  std::int64_t positives = 0, negatives = 0, twice_right = 0;
  for (const RankedSamples& equal : ranked) {
    twice_right += equal.negatives * (2 * positives + equal.positives);
    positives += equal.positives;
    negatives += equal.negatives;
  }
  return static_cast<double>(twice_right) /
         (2 * static_cast<double>(positives) * static_cast<double>(negatives));
}

std::vector<double> areas(const ClassPredictions& predictions) {
  return one_versus_rest(predictions, area);
}

}  // namespace

FOVEA_CLASS_SCORE(auroc,
                  "area under the ROC curve of the second of two classes, or of more the mean over "
                  "the classes, each against all others",
                  {.values = areas, .undefined_for = "classes without samples, or without others"})

}  // namespace fovea::metrics
