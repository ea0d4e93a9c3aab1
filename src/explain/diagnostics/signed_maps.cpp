#include "explain/diagnostics/signed_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace fovea::explain {
namespace {

double quotient(double part, double whole) {
  return whole > 0 ? part / whole : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double negative_mass(std::span<const double> map) {
  double negative = 0, all = 0;
  for (const double a : map) {
    negative += std::max(-a, 0.0);
    all += std::abs(a);
  }
  return quotient(negative, all);
}

MeanOf row_cancellation(std::span<const double> map, std::int64_t n) {
  FOVEA_CHECK(n >= 1 && std::ssize(map) % n == 0, ShapeError,
              fmt::format("row cancellation: {} values in {} rows; expected as many in each",
                          map.size(), n));
  MeanOf mean;
  const std::size_t cols = map.size() / static_cast<std::size_t>(n);
  for (std::size_t first = 0; first < map.size(); first += cols) {
    double sum = 0, sizes = 0;
    for (const double a : map.subspan(first, cols)) {
      sum += a;
      sizes += std::abs(a);
    }
    mean.add(1 - quotient(std::abs(sum), sizes));
  }
  return mean;
}

Cancellation cancellation(std::span<const double> positive, std::span<const double> negative) {
  FOVEA_CHECK(positive.size() == negative.size(), ShapeError,
              fmt::format("cancellation: maps of {} and {} values; expected as many",
                          positive.size(), negative.size()));
  double p = 0, n = 0, both = 0;
  for (std::size_t k = 0; k < positive.size(); ++k) {
    FOVEA_CHECK(!(positive[k] < 0) && !(negative[k] < 0), NumericError,
                "cancellation: parts of a map are negative; expected P and N of A = P - N");
    p += positive[k];
    n += negative[k];
    both += std::min(positive[k], negative[k]);
  }
  return {quotient(2 * both, p + n), quotient(both, n)};
}

}  // namespace fovea::explain
