// A token's own weight in a rollout, which skip connections make at least 2^-layers.
#pragma once

#include <cstdint>
#include <vector>

namespace fovea::visualise {

/// `weights` with entry `own` no larger than the largest of the others, so that colours show these.
std::vector<double> without_own_peak(std::vector<double> weights, std::int64_t own);

}  // namespace fovea::visualise
