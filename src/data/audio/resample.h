// Recordings at another sample rate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fovea::data {

/// Samples at `to` Hz of those at `from` Hz: ceil(n to / from) of them, the first at the time of
/// the first. Each is a sum over windowed sincs (Kaiser, 80 dB) of 24 zero crossings a side, whose
/// passband ends at 0.94 of the lower of the two Nyquist frequencies. The same rate changes
/// nothing. J. O. Smith, "Digital audio resampling", CCRMA 2002.
/// Throws ConfigError for rates below 1.
std::vector<float> resample(std::span<const float> samples, std::int64_t from, std::int64_t to);

/// How many samples that gives.
std::int64_t resampled_count(std::int64_t samples, std::int64_t from, std::int64_t to);

}  // namespace fovea::data
