#include "metrics/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"

namespace fovea::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Continued fraction of the incomplete beta function (Lentz's method); converges fast for
// x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto guarded = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / guarded(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int i = 1; i <= 1000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guarded(1 + even * d);
    c = guarded(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guarded(1 + odd * d);
    c = guarded(1 + odd / c);
    const double factor = d * c;
    result *= factor;
    if (std::abs(factor - 1) < 1e-15) break;
  }
  return result;
}

// Regularised incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_cdf(double t, double dof) {
  const double tail = 0.5 * incomplete_beta(dof / 2, 0.5, dof / (dof + t * t));
  return t > 0 ? 1 - tail : tail;
}

double student_quantile(double p, double dof) {
  double low = -1;
  double high = 1;
  while (student_cdf(low, dof) > p) low *= 2;
  while (student_cdf(high, dof) < p) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * std::max(1.0, std::abs(low)); ++i) {
    const double middle = 0.5 * (low + high);
    (student_cdf(middle, dof) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

Summary summarise(std::span<const double> values) {
  Summary summary;
  summary.n = static_cast<std::int64_t>(values.size());
  if (values.empty()) return {0, kNan, kNan, kNan, kNan};
  const double n = static_cast<double>(values.size());
  for (const double value : values) summary.mean += value / n;
  if (values.size() < 2) return {1, summary.mean, kNan, kNan, kNan};
  double squares = 0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.std = std::sqrt(squares / (n - 1));
  const double half = student_quantile(0.975, n - 1) * summary.std / std::sqrt(n);
  summary.ci95_low = summary.mean - half;
  summary.ci95_high = summary.mean + half;
  return summary;
}

Paired compare_paired(std::span<const double> a, std::span<const double> b) {
  FOVEA_CHECK(a.size() == b.size(), ShapeError,
              fmt::format("paired comparison: {} and {} values", a.size(), b.size()));
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  Paired paired{summarise(differences), kNan};
  const Summary& d = paired.difference;
  if (d.n >= 2 && d.std > 0) {
    const double n = static_cast<double>(d.n);
    paired.p_value = 2 * student_cdf(-std::abs(d.mean) / (d.std / std::sqrt(n)), n - 1);
  }
  return paired;
}

}  // namespace fovea::metrics
