#include "data/audio/resample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr double kCrossings = 24;  // zero crossings of a sinc on either side
constexpr double kPassband = 0.94;
constexpr double kKaiserBeta = 7.857;  // of 80 dB

// The modified Bessel function I0, by its series.
double bessel_i0(double x) {
  double sum = 1, term = 1;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

double windowed_sinc(double t, double cutoff) {
  const double reach = kCrossings / cutoff;
  if (std::abs(t) >= reach) return 0;
  const double x = std::numbers::pi * cutoff * t;
  const double sinc = std::abs(x) < 1e-9 ? 1 : std::sin(x) / x;
  const double place = t / reach;
  return cutoff * sinc * bessel_i0(kKaiserBeta * std::sqrt(1 - place * place)) /
         bessel_i0(kKaiserBeta);
}

// The weights of the samples around an output sample, for every place that it may have between two
// samples.
struct Phases {
  std::int64_t first = 0, taps = 0;  // of the sample before it, counted from first = -taps / 2 + 1
  std::vector<float> weights;        // (up, taps)
};

Phases phases_of(std::int64_t up, std::int64_t down) {
  // In units of the samples that are given.
  const double cutoff =
      kPassband * std::min(1.0, static_cast<double>(up) / static_cast<double>(down));
  const auto half = static_cast<std::int64_t>(std::ceil(kCrossings / cutoff));
  Phases phases{1 - half, 2 * half, {}};
  for (std::int64_t phase = 0; phase < up; ++phase) {
    const double at = static_cast<double>(phase) / static_cast<double>(up);
    std::vector<double> row;
    for (std::int64_t k = 0; k < phases.taps; ++k)
      row.push_back(windowed_sinc(static_cast<double>(phases.first + k) - at, cutoff));
    // A constant stays that constant.
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    for (const double weight : row) phases.weights.push_back(static_cast<float>(weight / sum));
  }
  return phases;
}

}  // namespace

std::int64_t resampled_count(std::int64_t samples, std::int64_t from, std::int64_t to) {
  const std::int64_t common = std::gcd(from, to);
  const std::int64_t up = to / common, down = from / common;
  return (samples * up + down - 1) / down;
}

std::vector<float> resample(std::span<const float> samples, std::int64_t from, std::int64_t to) {
  FOVEA_CHECK(from >= 1 && to >= 1, ConfigError,
              fmt::format("resample: {} Hz to {} Hz; expected 1 or more", from, to));
  if (from == to) return {samples.begin(), samples.end()};
  const std::int64_t common = std::gcd(from, to);
  const std::int64_t up = to / common, down = from / common;
  const Phases phases = phases_of(up, down);
  const std::int64_t n = std::ssize(samples);
  std::vector<float> result(static_cast<std::size_t>(resampled_count(n, from, to)));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t place = static_cast<std::int64_t>(i) * down;
    const std::int64_t first = place / up + phases.first;
    const float* weights = phases.weights.data() + (place % up) * phases.taps;
    const std::int64_t begin = std::max<std::int64_t>(0, -first);
    const std::int64_t end = std::min(phases.taps, n - first);
    float sum = 0;
    for (std::int64_t k = begin; k < end; ++k)
      sum += weights[k] * samples[static_cast<std::size_t>(first + k)];
    result[i] = sum;
  }
  return result;
}

}  // namespace fovea::data
