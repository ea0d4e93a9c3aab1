#include "visualise/layer_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fovea::visualise {
namespace {

double cosine(const double* a, const double* b, std::int64_t dim) {
  double product = 0, squares_a = 0, squares_b = 0;
  for (std::int64_t i = 0; i < dim; ++i) {
    product += a[i] * b[i];
    squares_a += a[i] * a[i];
    squares_b += b[i] * b[i];
  }
  return product / std::max(std::sqrt(squares_a) * std::sqrt(squares_b), 1e-12);
}

}  // namespace

std::vector<double> key_cosines(std::span<const double> keys, std::int64_t layers, std::int64_t dim,
                                KeyPairs pairs) {
  const std::int64_t set = layers * dim;
  FOVEA_CHECK(set > 0 && static_cast<std::int64_t>(keys.size()) % set == 0, ShapeError,
              fmt::format("key_cosines: {} values are no sets of {} layers x {}", keys.size(),
                          layers, dim));
  std::vector<double> found;
  for (const double* first = keys.data(); first < keys.data() + keys.size(); first += set) {
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::int64_t last = pairs == KeyPairs::kAdjacent ? std::min(layers, i + 2) : layers;
      for (std::int64_t j = i + 1; j < last; ++j) {
        found.push_back(cosine(first + i * dim, first + j * dim, dim));
      }
    }
  }
  return found;
}

std::vector<double> histogram(std::span<const double> values, std::int64_t bins, double low,
                              double high) {
  FOVEA_CHECK(bins >= 1 && low < high, ConfigError,
              fmt::format("histogram: {} bins over [{}, {}]", bins, low, high));
  std::vector<double> share(static_cast<std::size_t>(bins), 0.0);
  for (const double value : values) {
    if (!(value >= low && value <= high)) continue;
    const auto at =
        static_cast<std::int64_t>((value - low) / (high - low) * static_cast<double>(bins));
    share[static_cast<std::size_t>(std::min(at, bins - 1))] += 1;
  }
  for (double& count : share) count /= static_cast<double>(std::max<std::size_t>(1, values.size()));
  return share;
}

std::vector<double> beta_decay(std::span<const double> lambda, std::int64_t layers,
                               std::int64_t channels) {
  FOVEA_CHECK(static_cast<std::int64_t>(lambda.size()) == layers * channels, ShapeError,
              fmt::format("beta_decay: {} values; expected {} layers x {} channels", lambda.size(),
                          layers, channels));
  std::vector<double> beta(lambda.size(), 1.0);
  for (std::int64_t l = 1; l < layers; ++l) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto before = static_cast<std::size_t>((l - 1) * channels + c);
      const auto factor = static_cast<std::size_t>((layers - l) * channels + c);
      beta[static_cast<std::size_t>(l * channels + c)] = beta[before] * lambda[factor];
    }
  }
  return beta;
}

Spread spread_of(std::span<const double> values, bool absolute) {
  const auto value = [&](double x) { return absolute ? std::abs(x) : x; };
  const double n = static_cast<double>(std::max<std::size_t>(1, values.size()));
  Spread found;
  for (const double x : values) found.mean += value(x) / n;
  double squares = 0;
  for (const double x : values) squares += (value(x) - found.mean) * (value(x) - found.mean);
  found.std = std::sqrt(squares / n);
  return found;
}

std::vector<double> layer_scores(std::span<const double> norms, double divisor) {
  const std::size_t layers = norms.size();
  std::vector<double> scores(layers * layers, 0.0);
  for (std::size_t t = 0; t < layers; ++t) {
    const double largest =
        *std::max_element(norms.begin(), norms.begin() + static_cast<std::ptrdiff_t>(t) + 1);
    double sum = 0;
    for (std::size_t j = 0; j <= t; ++j) {
      scores[t * layers + j] = std::exp((norms[j] - largest) / divisor);
      sum += scores[t * layers + j];
    }
    for (std::size_t j = 0; j <= t; ++j) scores[t * layers + j] /= sum;
  }
  return scores;
}

}  // namespace fovea::visualise
