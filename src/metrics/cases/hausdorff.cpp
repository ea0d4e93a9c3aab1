#include <algorithm>

#include "metrics/cases/case_metric.h"

namespace fovea::metrics {
namespace {

double largest(const std::vector<double>& distances) { return std::ranges::max(distances); }

}  // namespace

FOVEA_CASE_METRIC(
    hd, "largest distance between borders (Hausdorff), in pixels",
    {.unit = "px", .larger_is_better = false, .distance = largest, .lengths = Lengths::kPixels})

FOVEA_CASE_METRIC(hd_mm, "the same in millimetres",
                  {.unit = "mm",
                   .larger_is_better = false,
                   .distance = largest,
                   .lengths = Lengths::kMillimetres})

}  // namespace fovea::metrics
