// Which boxes a step learns from.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/random.h"

namespace fovea::ops {

/// Numbers of boxes, in ascending order.
struct Sampled {
  std::vector<std::int64_t> positive, negative;
};

/// Of boxes that are assigned to objects (> 0) and to background (0) `count` at random, without
/// drawing one twice: up to count x positive_share positive ones, rounded down, and as many
/// negative ones as are missing. Fewer where there are no more. mmdet's RandomSampler, mala 4.5.
Sampled sample_boxes(const std::vector<std::int64_t>& assigned, std::int64_t count,
                     double positive_share, const RandomStream& random);

}  // namespace fovea::ops
