#include "explain/maps/gradient_maps.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace fovea::explain {
namespace {

void check(const GradedMap& layer) {
  const visualise::AttentionMap &a = layer.map, &g = layer.gradient;
  FOVEA_CHECK(a.heads >= 1 && a.heads == g.heads && a.n == g.n &&
                  a.values.size() == as_index(a.heads * a.n * a.n) &&
                  a.values.size() == g.values.size(),
              ShapeError,
              fmt::format("explanation: a map of {} heads and {} tokens with {} values, its "
                          "gradient of {} and {} with {}; expected equal ones",
                          a.heads, a.n, a.values.size(), g.heads, g.n, g.values.size()));
}

}  // namespace

Matrix weighted_map(const GradedMap& layer, bool positive) {
  check(layer);
  const auto& [heads, n, values] = layer.map;
  Matrix result{n, n, std::vector<double>(as_index(n * n), 0.0)};
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < n * n; ++i) {
      const double product =
          values[as_index(h * n * n + i)] * layer.gradient.values[as_index(h * n * n + i)];
      result.values[as_index(i)] += positive ? std::max(product, 0.0) : product;
    }
  }
  for (double& value : result.values) value /= static_cast<double>(heads);
  return result;
}

std::vector<double> gradient_rollout(std::span<const Matrix> layers, const TokenLayout& layout,
                                     std::int64_t start_layer) {
  FOVEA_CHECK(start_layer >= 0 && start_layer < std::ssize(layers), ConfigError,
              fmt::format("gradient_rollout: start_layer is {}; expected 0..{} for {} layers",
                          start_layer, std::ssize(layers) - 1, layers.size()));
  std::vector<double> row = reading_weights(layers.front().rows, layout);
  for (std::int64_t l = std::ssize(layers); l-- > start_layer;) {
    const Matrix& c = layers[as_index(l)];
    std::vector<double> scaled = row;
    for (std::int64_t i = 0; i < c.rows; ++i) {
      double sum = 1;
      for (std::int64_t j = 0; j < c.cols; ++j) sum += c.at(i, j);
      scaled[as_index(i)] /= sum;
    }
    row = times(scaled, c);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += scaled[i];
  }
  return behind_prefix(row, layout);
}

std::vector<double> generic_relevance(std::span<const Matrix> layers, const TokenLayout& layout) {
  FOVEA_CHECK(!layers.empty(), ShapeError, "generic_attention: no maps; expected one per layer");
  std::vector<double> row = reading_weights(layers.front().rows, layout);
  for (std::int64_t l = std::ssize(layers); l-- > 0;) {
    const std::vector<double> through = times(row, layers[as_index(l)]);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += through[i];
  }
  return behind_prefix(row, layout);
}

std::vector<double> attention_gradcam(const GradedMap& layer, const TokenLayout& layout) {
  check(layer);
  const auto& [heads, n, values] = layer.map;
  const std::vector<double> rows = reading_weights(n, layout);
  std::vector<double> result(as_index(n - layout.prefix), 0.0);
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto part = [&](const std::vector<double>& all) {
      const auto first = all.begin() + h * n * n;
      return behind_prefix(times(rows, {n, n, {first, first + n * n}}), layout);
    };
    double weight = 0;
    for (const double value : part(layer.gradient.values)) weight += value;
    weight /= static_cast<double>(n - layout.prefix) * static_cast<double>(heads);
    const std::vector<double> attended = part(values);
    for (std::size_t j = 0; j < result.size(); ++j) result[j] += weight * attended[j];
  }
  for (double& value : result) value = std::max(value, 0.0);
  return result;
}

}  // namespace fovea::explain
