#include "metrics/cases/case_metric.h"

namespace fovea::metrics {

double case_iou(std::int64_t truth, std::int64_t predicted, std::int64_t both, EmptyMasks empty) {
  const double dice = case_dice(truth, predicted, both, empty);
  return dice / (2 - dice);
}

FOVEA_CASE_METRIC(case_iou, "IoU", {.unit = "%", .share = case_iou})

}  // namespace fovea::metrics
