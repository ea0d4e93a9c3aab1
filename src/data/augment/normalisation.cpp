#include "data/augment/normalisation.h"

#include <fmt/format.h>

#include <cstddef>

#include "base/error.h"

namespace fovea::data {
namespace {

std::vector<double> one_per_channel(const char* key, const std::vector<double>& values,
                                    double otherwise, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  if (values.empty()) return std::vector<double>(count, otherwise);
  if (values.size() == 1) return std::vector<double>(count, values[0]);
  FOVEA_CHECK(values.size() == count, ConfigError,
              fmt::format("dataset.{}: {} values for images of {} channels; give {} or 1", key,
                          values.size(), channels, channels));
  return values;
}

}  // namespace

Normalisation normalisation(const NormalisationKeys& keys, const std::vector<double>& mean,
                            const std::vector<double>& std, std::int64_t channels) {
  Normalisation found;
  if (keys.normalise) {
    found.mean = keys.mean.empty() ? mean : keys.mean;
    found.std = keys.std.empty() ? std : keys.std;
  }
  found.mean = one_per_channel("mean", found.mean, 0, channels);
  found.std = one_per_channel("std", found.std, 1, channels);
  for (const double value : found.std) {
    FOVEA_CHECK(value > 0.0, ConfigError,
                fmt::format("dataset.std: holds {}; every value must be above 0", value));
  }
  return found;
}

void normalise(Planes x, std::span<const double> mean, std::span<const double> std) {
  FOVEA_CHECK(static_cast<std::int64_t>(mean.size()) == x.channels &&
                  static_cast<std::int64_t>(std.size()) == x.channels,
              ShapeError,
              fmt::format("normalise: {} means and {} deviations for {} channels", mean.size(),
                          std.size(), x.channels));
  for (std::int64_t c = 0; c < x.channels; ++c) {
    const auto k = static_cast<std::size_t>(c);
    const auto shift = static_cast<float>(mean[k]);
    const auto scale = static_cast<float>(1.0 / std[k]);
    float* plane = x.channel(c);
    for (std::int64_t i = 0; i < x.plane(); ++i) plane[i] = (plane[i] - shift) * scale;
  }
}

}  // namespace fovea::data
