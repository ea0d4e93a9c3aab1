#include "data/augment/pictures/warp.h"

#include <cstddef>

namespace fovea::data {
namespace {

// Gaussian weights of 2 radius + 1 pixels, which sum to 1.
std::vector<double> gaussian_weights(std::int64_t radius, double sigma) {
  std::vector<double> weights;
  double total = 0;
  for (std::int64_t k = -radius; k <= radius; ++k) {
    const double place = static_cast<double>(k) / sigma;
    weights.push_back(std::exp(-0.5 * place * place));
    total += weights.back();
  }
  for (double& weight : weights) weight /= total;
  return weights;
}

}  // namespace

std::int64_t reflected(std::int64_t i, std::int64_t n) {
  if (n == 1) return 0;
  const std::int64_t period = 2 * (n - 1);
  i = ((i % period) + period) % period;
  return i < n ? i : period - i;
}

void smooth(Planes x, std::int64_t radius, double sigma) {
  const std::vector<double> weights = gaussian_weights(radius, sigma);
  const auto along = [&](float* first, std::int64_t n, std::int64_t step) {
    std::vector<float> line(static_cast<std::size_t>(n + 2 * radius));
    for (std::int64_t i = -radius; i < n + radius; ++i)
      line[static_cast<std::size_t>(i + radius)] = first[reflected(i, n) * step];
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < weights.size(); ++k)
        sum += weights[k] * double{line[static_cast<std::size_t>(i) + k]};
      first[i * step] = static_cast<float>(sum);
    }
  };
  for (std::int64_t c = 0; c < x.channels; ++c) {
    for (std::int64_t i = 0; i < x.height; ++i) along(x.channel(c) + i * x.width, x.width, 1);
    for (std::int64_t j = 0; j < x.width; ++j) along(x.channel(c) + j, x.height, x.width);
  }
}

}  // namespace fovea::data
