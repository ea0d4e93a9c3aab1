#include "visualise/maps/layer_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <xtensor/xaccumulator.hpp>
#include <xtensor/xmanipulation.hpp>

#include "base/error.h"
#include "tensor/xtensor.h"

namespace fovea::visualise {
std::vector<double> key_cosines(std::span<const double> keys, std::int64_t layers, std::int64_t dim,
                                KeyPairs pairs) {
  const std::int64_t set = layers * dim;
  FOVEA_CHECK(set > 0 && static_cast<std::int64_t>(keys.size()) % set == 0, ShapeError,
              fmt::format("key_cosines: {} values are no sets of {} layers x {}", keys.size(),
                          layers, dim));
  const std::int64_t sets = std::ssize(keys) / set;
  const auto k = as_xtensor(keys, {sets, layers, dim});
  const xt::xtensor<double, 2> norms = xt::sqrt(xt::sum(k * k, {2}));
  std::vector<double> found;
  for (std::int64_t s = 0; s < sets; ++s) {
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::int64_t last = pairs == KeyPairs::kAdjacent ? std::min(layers, i + 2) : layers;
      for (std::int64_t j = i + 1; j < last; ++j) {
        const double product = xt::sum(xt::view(k, s, i) * xt::view(k, s, j))();
        found.push_back(product / std::max(norms(s, i) * norms(s, j), 1e-12));
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
  auto after_first =
      xt::view(as_xtensor(std::span(beta), {layers, channels}), xt::range(1, layers));
  const auto later = xt::view(as_xtensor(lambda, {layers, channels}), xt::range(1, layers));
  after_first = xt::cumprod(xt::flip(later, 0), 0);
  return beta;
}

Spread spread_of(std::span<const double> values, bool absolute) {
  if (values.empty()) return {};
  xt::xtensor<double, 1> x = as_xtensor(values, {std::ssize(values)});
  if (absolute) x = xt::abs(x);
  return {xt::mean(x)(), xt::stddev(x)()};
}

std::vector<double> layer_scores(std::span<const double> norms, double divisor) {
  const std::int64_t layers = std::ssize(norms);
  const auto n = as_xtensor(norms, {layers});
  std::vector<double> scores(norms.size() * norms.size(), 0.0);
  auto rows = as_xtensor(std::span(scores), {layers, layers});
  for (std::int64_t t = 0; t < layers; ++t) {
    const auto seen = xt::view(n, xt::range(0, t + 1));
    auto row = xt::view(rows, t, xt::range(0, t + 1));
    row = xt::exp((seen - xt::amax(seen)()) / divisor);
    row /= xt::sum(row)();
  }
  return scores;
}

}  // namespace fovea::visualise
