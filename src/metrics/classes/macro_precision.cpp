#include "metrics/classes/class_score.h"

namespace fovea::metrics {
namespace {

// 0 / 0 is NaN.
std::vector<double> precisions(const ClassPredictions& predictions) {
  const ClassCounts counts = class_counts(predictions.confusion());
  std::vector<double> shares;
  for (std::size_t c = 0; c < counts.both.size(); ++c)
    shares.push_back(static_cast<double>(counts.both[c]) /
                     static_cast<double>(counts.predicted[c]));
  return shares;
}

}  // namespace

FOVEA_CLASS_SCORE(macro_precision, "mean over the classes of their precision",
                  {.values = precisions, .undefined_for = "classes that are never predicted"})

}  // namespace fovea::metrics
