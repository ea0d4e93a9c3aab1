// Mean and standard deviation that are removed from the channels of images.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/augment/corruptions.h"

namespace fovea::data {

/// One value a channel, in units of [0, 1].
struct Normalisation {
  std::vector<double> mean, std;
};

/// The keys `normalise`, `mean` and `std` of a data set of images.
struct NormalisationKeys {
  bool normalise = true;
  std::vector<double> mean, std;  // empty: those of the data set
};

/// 0 and 1 where it is off. Throws ConfigError for lists that are neither of one value nor of one a
/// channel, and for deviations that are not above 0.
Normalisation normalisation(const NormalisationKeys& keys, const std::vector<double>& mean,
                            const std::vector<double>& std, std::int64_t channels);

/// (x - mean) / std for each channel. The sizes must be x.channels.
void normalise(Planes x, std::span<const double> mean, std::span<const double> std);

}  // namespace fovea::data
