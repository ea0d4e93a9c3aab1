#include "metrics/cases/case_metric.h"

namespace fovea::metrics {

double case_dice(std::int64_t truth, std::int64_t predicted, std::int64_t both, EmptyMasks empty) {
  if (truth == 0) {
    if (empty == EmptyMasks::kDformer) return predicted > 0 ? 0 : 1;
    if (empty != EmptyMasks::kTransUnet) return of_nothing(Empty::kLeftOut);
    return predicted > 0 ? 1 : 0;
  }
  return 2 * static_cast<double>(both) / static_cast<double>(truth + predicted);
}

FOVEA_CASE_METRIC(case_dice, "Dice", {.unit = "%", .share = case_dice})

}  // namespace fovea::metrics
