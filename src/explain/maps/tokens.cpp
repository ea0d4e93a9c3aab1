#include "explain/maps/tokens.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::explain {

std::vector<double> reading_weights(std::int64_t n, const TokenLayout& layout) {
  FOVEA_CHECK(
      layout.prefix >= 0 && layout.prefix < n, ShapeError,
      fmt::format("explanation: {} prefix tokens of {}; expected some behind", layout.prefix, n));
  std::vector<double> weights(static_cast<std::size_t>(n), 0.0);
  if (layout.pooling == Pooling::kClass) {
    FOVEA_CHECK(layout.prefix > 0, ConfigError,
                "explanation: no prefix token; expected a class token to read from");
    weights[0] = 1;
    return weights;
  }
  for (std::int64_t i = layout.prefix; i < n; ++i)
    weights[static_cast<std::size_t>(i)] = 1 / static_cast<double>(n - layout.prefix);
  return weights;
}

std::vector<double> reading_row(const Matrix& relevance, const TokenLayout& layout) {
  return behind_prefix(times(reading_weights(relevance.rows, layout), relevance), layout);
}

std::vector<double> behind_prefix(const std::vector<double>& row, const TokenLayout& layout) {
  return {row.begin() + layout.prefix, row.end()};
}

std::vector<double> times(const std::vector<double>& row, const Matrix& matrix) {
  FOVEA_CHECK(std::ssize(row) == matrix.rows, ShapeError,
              fmt::format("explanation: {} weights for {} rows of a map", row.size(), matrix.rows));
  std::vector<double> result(static_cast<std::size_t>(matrix.cols), 0.0);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    const double weight = row[static_cast<std::size_t>(i)];
    if (weight == 0) continue;
    for (std::int64_t j = 0; j < matrix.cols; ++j)
      result[static_cast<std::size_t>(j)] += weight * matrix.at(i, j);
  }
  return result;
}

}  // namespace fovea::explain
