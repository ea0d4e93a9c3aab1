// HTK's scale of pitch, and where the bands of log-mel features lie on it. mala 7.5.
#pragma once

#include "data/audio/log_mel.h"

namespace fovea::data {

double mel_of(double hertz);
double hertz_of(double mel);

/// Corner i of the triangles of a plan's bands, in hertz: band m begins at corner m, is highest at
/// m + 1 and ends at m + 2. They lie at one distance in mel.
double band_corner(const LogMelPlan& plan, std::int64_t i);

}  // namespace fovea::data
