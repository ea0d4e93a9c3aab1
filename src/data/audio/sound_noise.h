// Noise on recordings, for training and for measuring robustness.
#pragma once

#include <span>

#include "data/augment/noise.h"
#include "tensor/random.h"

namespace fovea::data {

/// "white": normal noise whose root mean square is `level` times the recording's, as drawn from the
/// stream and the level. Throws ConfigError for another type, and unless 0 < level < 1.
void corrupt_sound(std::span<float> samples, const NoiseLevel& what, const RandomStream& stream);

/// Names, preset and help of these types, for options and reports.
const NoiseKind& sound_noise();

}  // namespace fovea::data
