#include "metrics/classes/class_score.h"
#include "metrics/label_maps.h"

namespace fovea::metrics {
namespace {

// F1 is the Dice of the samples with the label and those predicted.
std::vector<double> f1(const ClassPredictions& predictions) {
  return class_dice(class_counts(predictions.confusion()));
}

}  // namespace

FOVEA_CLASS_SCORE(macro_f1, "mean over the classes of F1",
                  {.values = f1, .undefined_for = "classes without samples that are not predicted"})

}  // namespace fovea::metrics
