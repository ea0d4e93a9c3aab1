// Statistics of a few repeated runs that cannot overclaim: intervals instead of stars, exact tests,
// and how small a p-value the number of seeds allows at all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fovea::metrics {

/// Mean and spread of n values. `std` divides by n - 1 and is NaN for a single value, which has
/// none. The interval is mean -+ t(0.975, n - 1) std / sqrt(n), NaN below two values. No values:
/// mean and std are NaN.
struct Estimate {
  std::int64_t n = 0;
  double mean = 0;
  double std = 0;
  double low = 0;
  double high = 0;
};
Estimate estimate(std::span<const double> values);

/// P(|T| <= t) of Student's distribution with dof >= 1 degrees of freedom, t >= 0 (the finite sums
/// for whole dof, Abramowitz and Stegun 26.7.3 and 26.7.4).
double student_inside(double t, std::int64_t dof);
/// The t with P(|T| <= t) = inside, for inside in (0, 1): 2.776445 for 0.95 and 4.
double student_bound(double inside, std::int64_t dof);

/// P(Z <= x) of the standard normal distribution, and the x with P(Z <= x) = share in (0, 1).
double normal_below(double x);
double normal_quantile(double share);

/// Differences of pairs.
struct Paired {
  Estimate difference;
  double p = 0;  // sign_flip_p of the differences; NaN without pairs
};

/// Two-sided p-value of the paired randomisation test: the share of the 2^n ways to flip the signs
/// of the differences that give a mean at least as far from 0. Complete up to 20 differences; NaN
/// above, for none, and if one is not finite.
double exact_p(std::span<const double> differences);

// Tests over cases: one difference for each sample that two networks saw.

/// As exact_p for any number of differences: of more than 20 that are not 0, the share of 9999
/// random ways to flip their signs, and the one observed, that give a mean at least as far from 0.
/// The same bits every time. 1 if all are 0; NaN for none, and if one is not finite.
double sign_flip_p(std::span<const double> differences);

/// Two-sided p-value of Wilcoxon's signed-rank test (Biometrics Bulletin 1, 1945). Differences of 0
/// are left out, equal ones share their ranks. Exact for up to 50, else normal with correction for
/// ties and continuity. 1 if all are 0; NaN for none, and if one is not finite.
double signed_rank_p(std::span<const double> differences);

/// The smallest p-value exact_p can give for n pairs: 2 / 2^n, at most 1. 0.0625 for 5 pairs.
double smallest_p(std::int64_t n);
/// Pairs that are needed for a p-value of at most alpha in (0, 1): 6 for 0.05.
std::int64_t pairs_needed(double alpha);

/// Holm's step-down adjustment for several tests, in the order given. NaN stays NaN and does not
/// count as a test.
std::vector<double> holm(std::span<const double> p_values);

double median(std::vector<double> values);  // NaN for none

}  // namespace fovea::metrics
