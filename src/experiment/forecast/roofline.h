// The time of a training step on a device that is not here, from what each operation computes and
// moves.
#pragma once

#include <vector>

#include "autograd/profiler.h"

namespace fovea::experiment {

/// What a device reaches.
struct Roof {
  double operations = 0;        // a second, 2 a multiply-add
  double memory_bandwidth = 0;  // bytes a second
};

struct RooflineTimes {
  double forward_s = 0, backward_s = 0, update_s = 0;
};

/// Every operation of a step takes as long as its arithmetic or the bytes that it moves at least
/// (autograd::Event), whichever takes longer, and at least kLaunch. Williams et al. 2009,
/// "Roofline".
RooflineTimes roofline(const std::vector<autograd::Event>& step, const Roof& roof);

/// Seconds that a kernel takes at least.
inline constexpr double kLaunch = 5e-6;

}  // namespace fovea::experiment
