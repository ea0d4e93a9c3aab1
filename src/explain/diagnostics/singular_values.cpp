#include "explain/diagnostics/singular_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <xtensor-blas/xlinalg.hpp>

#include "base/error.h"
#include "tensor/xtensor.h"

namespace fovea::explain {

std::vector<double> singular_values(std::span<const double> matrix, std::int64_t n) {
  FOVEA_CHECK(n >= 1 && !matrix.empty() && std::ssize(matrix) % n == 0, ShapeError,
              fmt::format("singular values: {} values in {} rows; expected as many in each",
                          matrix.size(), n));
  FOVEA_CHECK(std::ranges::all_of(matrix, [](double v) { return std::isfinite(v); }), NumericError,
              "singular values: the map is not finite");
  const xt::xtensor<double, 2> a = as_xtensor(matrix, {n, std::ssize(matrix) / n});
  const xt::xtensor<double, 1> s = std::get<1>(xt::linalg::svd(a, false, false));
  return {s.begin(), s.end()};
}

double effective_rank(std::span<const double> singular) {
  double sum = 0, entropy = 0;
  for (const double s : singular) sum += s;
  if (!(sum > 0)) return std::numeric_limits<double>::quiet_NaN();
  for (const double s : singular) {
    if (s > 0) entropy -= s / sum * std::log(s / sum);
  }
  return std::exp(entropy);
}

double stable_rank(std::span<const double> singular) {
  double squares = 0;
  for (const double s : singular) squares += s * s;
  if (!(squares > 0)) return std::numeric_limits<double>::quiet_NaN();
  return squares / (singular.front() * singular.front());
}

double row_residual(std::span<const double> matrix, std::int64_t n) {
  FOVEA_CHECK(n >= 1 && std::ssize(matrix) % n == 0, ShapeError,
              fmt::format("row residual: {} values in {} rows; expected as many in each",
                          matrix.size(), n));
  const std::size_t dim = matrix.size() / static_cast<std::size_t>(n);
  std::vector<double> mean(dim, 0.0);
  for (std::size_t k = 0; k < matrix.size(); ++k)
    mean[k % dim] += matrix[k] / static_cast<double>(n);
  double apart = 0, all = 0;
  for (std::size_t k = 0; k < matrix.size(); ++k) {
    apart += (matrix[k] - mean[k % dim]) * (matrix[k] - mean[k % dim]);
    all += matrix[k] * matrix[k];
  }
  return all > 0 ? std::sqrt(apart / all) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace fovea::explain
