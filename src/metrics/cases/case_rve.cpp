#include <cmath>

#include "metrics/cases/case_metric.h"

namespace fovea::metrics {
namespace {

// By no rule is there an error relative to nothing.
double volume_error(std::int64_t truth, std::int64_t predicted, std::int64_t /*both*/,
                    EmptyMasks /*empty*/) {
  if (truth == 0) return of_nothing(Empty::kLeftOut);
  return std::abs(static_cast<double>(predicted - truth)) / static_cast<double>(truth);
}

}  // namespace

FOVEA_CASE_METRIC(case_rve, "relative volume error, |predicted - truth| / truth",
                  {.unit = "%", .larger_is_better = false, .share = volume_error})

}  // namespace fovea::metrics
