// Which of many scores are the highest. A loop of the host, as all of boxes.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fovea::ops {

/// Indices of the k highest scores, the highest first, of equal ones the first; of fewer than k
/// all. NaN is left out.
std::vector<std::int64_t> top_k(std::span<const float> scores, std::int64_t k);

}  // namespace fovea::ops
