#include "explain/baselines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fovea::explain {
namespace {

using Plane = std::vector<double>;

// weights exp(-k^2 / (2 sigma^2)), |k| <= floor(4 sigma + 0.5), of sum 1.
Plane gaussian(double sigma) {
  const auto radius = static_cast<std::int64_t>(std::floor(4 * sigma + 0.5));
  Plane weights;
  double sum = 0;
  for (std::int64_t k = -radius; k <= radius; ++k) {
    const auto x = static_cast<double>(k);
    weights.push_back(std::exp(-x * x / (2 * sigma * sigma)));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// The border is reflected with the edge repeated: d c b a | a b c d | d c b a.
std::int64_t reflected(std::int64_t i, std::int64_t size) {
  const std::int64_t period = 2 * size;
  const std::int64_t within = ((i % period) + period) % period;
  return within < size ? within : period - 1 - within;
}

// Along lines of `size` values that lie `stride` apart.
Plane blurred_along(const Plane& plane, const Plane& weights, std::int64_t size,
                    std::int64_t stride) {
  const std::int64_t radius = std::ssize(weights) / 2;
  std::vector<std::int64_t> from;  // of every place of a line with its borders
  for (std::int64_t i = -radius; i < size + radius; ++i)
    from.push_back(reflected(i, size) * stride);
  Plane result(plane.size()), line(from.size());
  for (std::int64_t first = 0; first < std::ssize(plane); ++first) {
    if (first / stride % size != 0) continue;  // no line begins here
    for (std::size_t i = 0; i < line.size(); ++i)
      line[i] = plane[static_cast<std::size_t>(first + from[i])];
    for (std::int64_t i = 0; i < size; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < weights.size(); ++k)
        sum += weights[k] * line[static_cast<std::size_t>(i) + k];
      result[static_cast<std::size_t>(first + i * stride)] = sum;
    }
  }
  return result;
}

void blur(std::span<float> channel, std::int64_t height, std::int64_t width, const Plane& weights) {
  Plane plane(channel.begin(), channel.end());
  plane = blurred_along(plane, weights, height, width);
  plane = blurred_along(plane, weights, width, 1);
  std::ranges::transform(plane, channel.begin(), [](double v) { return static_cast<float>(v); });
}

double mean_of(std::span<const float> channel) {
  double sum = 0;
  for (const float value : channel) sum += value;
  return sum / static_cast<double>(channel.size());
}

double black_of(const Colours& colours, std::int64_t channels, std::size_t c) {
  FOVEA_CHECK(
      std::ssize(colours.mean) == channels && std::ssize(colours.std) == channels, ConfigError,
      fmt::format("baseline: black needs the mean and standard deviation that images were "
                  "normalised with: {} and {} given, expected {}; choose zero, mean or blur",
                  colours.mean.size(), colours.std.size(), channels));
  return -colours.mean[c] / colours.std[c];
}

}  // namespace

const std::vector<std::pair<std::string, Baseline>>& baselines() {
  static const std::vector<std::pair<std::string, Baseline>> all = {{"zero", Baseline::kZero},
                                                                    {"mean", Baseline::kMean},
                                                                    {"black", Baseline::kBlack},
                                                                    {"blur", Baseline::kBlur}};
  return all;
}

Image baseline_image(const Image& x, const BaselineOptions& options, const Colours& colours) {
  Image result = x;
  const double sigma =
      options.sigma.value_or(static_cast<double>(std::max(x.height, x.width)) / 22.4);
  const auto pixels = static_cast<std::size_t>(x.pixels());
  for (std::size_t c = 0; c < static_cast<std::size_t>(x.channels); ++c) {
    const std::span channel = std::span(result.values).subspan(c * pixels, pixels);
    switch (options.baseline) {
      case Baseline::kZero:
        std::ranges::fill(channel, 0.0f);
        break;
      case Baseline::kMean:
        std::ranges::fill(channel, static_cast<float>(mean_of(channel)));
        break;
      case Baseline::kBlack:
        std::ranges::fill(channel, static_cast<float>(black_of(colours, x.channels, c)));
        break;
      case Baseline::kBlur:
        blur(channel, x.height, x.width, gaussian(sigma));
        break;
    }
  }
  return result;
}

}  // namespace fovea::explain
