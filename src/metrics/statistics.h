// Statistics of repeated runs, for tables: nothing here hides how few runs there were.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fovea::metrics {

/// Of n values: std divides by n - 1 and is NaN for fewer than two; the interval is
/// mean +- t(0.975, n - 1) std / sqrt(n).
struct Summary {
  std::int64_t n = 0;
  double mean = 0;
  double std = 0;
  double ci95_low = 0;
  double ci95_high = 0;
};
Summary summarise(std::span<const double> values);

/// P(T <= t) of Student's distribution with `dof` > 0 degrees of freedom.
double student_cdf(double t, double dof);
/// The t with P(T <= t) = p, for p in (0, 1).
double student_quantile(double p, double dof);

/// Differences a[i] - b[i] of runs with the same seeds: their summary, and the two-sided p-value of
/// the paired t test (NaN for fewer than two pairs or no spread). Throws ShapeError for different
/// lengths.
struct Paired {
  Summary difference;
  double p_value = 0;
};
Paired compare_paired(std::span<const double> a, std::span<const double> b);

}  // namespace fovea::metrics
