#include "visualise/maps/rollouts/own_weight.h"

#include <algorithm>
#include <limits>

namespace fovea::visualise {

std::vector<double> without_own_peak(std::vector<double> weights, std::int64_t own) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < std::ssize(weights); ++i) {
    if (i != own) largest = std::max(largest, weights[static_cast<std::size_t>(i)]);
  }
  double& at = weights[static_cast<std::size_t>(own)];
  if (weights.size() > 1) at = std::min(at, largest);
  return weights;
}

}  // namespace fovea::visualise
