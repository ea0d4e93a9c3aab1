#include "metrics/cases/case_metric.h"
#include "metrics/masks/surface.h"

namespace fovea::metrics {
namespace {

double percentile_95(const std::vector<double>& distances) {
  return quantile(distances, kHd95Share);
}

}  // namespace

FOVEA_CASE_METRIC(hd95, "95th percentile of the distances between borders, in pixels",
                  {.unit = "px",
                   .larger_is_better = false,
                   .distance = percentile_95,
                   .lengths = Lengths::kPixels})

FOVEA_CASE_METRIC(hd95_mm, "the same in millimetres",
                  {.unit = "mm",
                   .larger_is_better = false,
                   .distance = percentile_95,
                   .lengths = Lengths::kMillimetres})

}  // namespace fovea::metrics
