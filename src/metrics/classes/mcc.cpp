#include <cmath>

#include "metrics/classes/class_score.h"

namespace fovea::metrics {
namespace {

// Gorodkin's R_K (Comparing two K-category assignments by a K-category correlation coefficient,
// 2004); of two classes Matthews' coefficient.
std::vector<double> correlation(const ClassPredictions& predictions) {
  const ClassCounts counts = class_counts(predictions.confusion());
  const auto n = static_cast<double>(predictions.size());
  double right = 0, expected = 0, of_truth = n * n, of_predicted = n * n;
  for (std::size_t c = 0; c < counts.both.size(); ++c) {
    const auto truth = static_cast<double>(counts.truth[c]);
    const auto predicted = static_cast<double>(counts.predicted[c]);
    right += static_cast<double>(counts.both[c]);
    expected += truth * predicted;
    of_truth -= truth * truth;
    of_predicted -= predicted * predicted;
  }
  // 0 / 0 is NaN.
  return {(right * n - expected) / std::sqrt(of_truth * of_predicted)};
}

}  // namespace

FOVEA_CLASS_SCORE(mcc, "Matthews correlation coefficient of labels and predictions, -1 to 1",
                  {.values = correlation,
                   .unit = "",
                   .undefined_for = "labels, or predictions, of one class only"})

}  // namespace fovea::metrics
