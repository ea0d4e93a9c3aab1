// Test-time mirroring, as nnU-Net's.
#pragma once

#include <cstdint>
#include <vector>

#include "training/inference/inferer.h"

namespace fovea::training {

/// A network whose maps are the means over all mirrorings of any of these spatial axes of what it
/// is given, 0 = the first: 2^axes passes. Without axes `network` itself.
Inferer::Network mirrored(Inferer::Network network, std::vector<std::int64_t> axes);
/// Throws ConfigError for an axis that samples of so many axes do not have, and for one given
/// twice.
void check_mirror_axes(const std::vector<std::int64_t>& axes, std::int64_t sample_axes);

/// What "mirror_axes" of every inferer is about, for its schema.
inline constexpr const char* kMirrorAxesHelp =
    "mean over all mirrorings of these axes, 0 = the first of the sample; [] = none";

}  // namespace fovea::training
