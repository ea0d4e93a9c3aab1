#include "metrics/classes/ranked_samples.h"

namespace fovea::metrics {
namespace {

std::vector<double> areas(const ClassPredictions& predictions) {
  return one_versus_rest(predictions, area_under_roc);
}

}  // namespace

FOVEA_CLASS_SCORE(auroc,
                  "area under the ROC curve of the second of two classes, or of more the mean over "
                  "the classes, each against all others",
                  {.values = areas, .undefined_for = "classes without samples, or without others"})

}  // namespace fovea::metrics
