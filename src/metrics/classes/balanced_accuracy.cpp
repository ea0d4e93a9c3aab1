#include "metrics/classes/class_score.h"

namespace fovea::metrics {
namespace {

std::vector<double> recalls(const ClassPredictions& predictions) {
  return class_accuracy(class_counts(predictions.confusion()));
}

}  // namespace

FOVEA_CLASS_SCORE(balanced_accuracy, "mean over the classes of their recall (macro recall)",
                  {.values = recalls, .undefined_for = "classes without samples"})

}  // namespace fovea::metrics
