#include <numeric>

#include "metrics/cases/case_metric.h"

namespace fovea::metrics {
namespace {

double mean_distance(const std::vector<double>& distances) {
  return std::accumulate(distances.begin(), distances.end(), 0.0) /
         static_cast<double>(distances.size());
}

}  // namespace

FOVEA_CASE_METRIC(assd,
                  "mean distance between borders (average symmetric surface distance), in "
                  "pixels",
                  {.unit = "px",
                   .larger_is_better = false,
                   .distance = mean_distance,
                   .lengths = Lengths::kPixels})

FOVEA_CASE_METRIC(assd_mm, "the same in millimetres",
                  {.unit = "mm",
                   .larger_is_better = false,
                   .distance = mean_distance,
                   .lengths = Lengths::kMillimetres})

}  // namespace fovea::metrics
