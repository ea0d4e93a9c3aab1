#include "metrics/classes/ranked_samples.h"

namespace fovea::metrics {
namespace {

std::vector<double> averages(const ClassPredictions& predictions) {
  return one_versus_rest(predictions, average_precision);
}

}  // namespace

FOVEA_CLASS_SCORE(average_precision,
                  "mean precision over the steps of recall of the second of two classes, or of "
                  "more the mean over the classes, each against all others",
                  {.values = averages, .undefined_for = "classes without samples"})

}  // namespace fovea::metrics
