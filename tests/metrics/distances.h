// One metric of distances between the borders of classes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metrics/cases/case_metric.h"

namespace fovea::test {

/// Of each class of `sets` but the first.
inline std::vector<double> distances(const std::string& metric, std::span<const std::int64_t> truth,
                                     std::span<const std::int64_t> predicted,
                                     const metrics::LabelSets& sets, std::int64_t ignore,
                                     const metrics::Grid& grid) {
  const metrics::CaseMetricEntry& entry = metrics::case_metric_entries().find(metric);
  return metrics::mask_values({&entry}, truth, predicted, sets, ignore, grid).at(metric);
}
/// Of single labels, 0 to classes - 1.
inline std::vector<double> distances(const std::string& metric, std::span<const std::int64_t> truth,
                                     std::span<const std::int64_t> predicted, std::int64_t classes,
                                     std::int64_t ignore, const metrics::Grid& grid) {
  metrics::LabelSets sets;
  for (std::int64_t c = 0; c < classes; ++c) sets.push_back({c});
  return distances(metric, truth, predicted, sets, ignore, grid);
}

}  // namespace fovea::test
