#include "explain/diagnostics/linear_map.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace fovea::explain {
namespace {

std::vector<double> features_of(std::span<const double> x, Feature feature) {
  std::vector<double> result;
  for (const double v : x) {
    if (feature == Feature::kRelu) {
      result.push_back(v > 0 ? v : 0);
    } else {
      result.push_back(v > 0 ? v + 1 : std::exp(v));
    }
  }
  return result;
}

}  // namespace

std::vector<double> linear_map(std::span<const double> q, std::span<const double> k, std::int64_t n,
                               Feature feature, double eps) {
  FOVEA_CHECK(
      n >= 1 && q.size() == k.size() && std::ssize(q) % n == 0, ShapeError,
      fmt::format("linear map: {} and {} values of {} queries and keys; expected as many in "
                  "each",
                  q.size(), k.size(), n));
  const std::vector<double> a = features_of(q, feature), b = features_of(k, feature);
  const auto rows = static_cast<std::size_t>(n), dim = q.size() / rows;
  std::vector<double> map(rows * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = eps;
    for (std::size_t j = 0; j < rows; ++j) {
      double product = 0;
      for (std::size_t c = 0; c < dim; ++c) product += a[i * dim + c] * b[j * dim + c];
      map[i * rows + j] = product;
      sum += product;
    }
    for (std::size_t j = 0; j < rows; ++j) map[i * rows + j] /= sum;
  }
  return map;
}

}  // namespace fovea::explain
