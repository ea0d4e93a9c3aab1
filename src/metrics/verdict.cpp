#include "metrics/verdict.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "metrics/power.h"
#include "metrics/statistics.h"

namespace fovea::metrics {
namespace {

// That the mean is above 0. The two-sided test counts as many patterns on either side.
double above_zero_p(const std::vector<double>& values) {
  const double p = sign_flip_p(values);
  double sum = 0;
  for (const double value : values) sum += value;
  return std::isnan(p) || sum > 0 ? p / 2 : 1.0;
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kNotDistinguishable:
      return "not distinguishable";
    case Verdict::kNone:
      break;
  }
  return "-";
}

Verdict verdict_of(double p_holm, double difference, bool larger_is_better) {
  if (std::isnan(p_holm)) return Verdict::kNone;
  if (p_holm > kAlpha) return Verdict::kNotDistinguishable;
  return (difference > 0) == larger_is_better ? Verdict::kBetter : Verdict::kWorse;
}

double equivalence_p(std::span<const double> differences, double margin) {
  std::vector<double> above, below;  // the lower bound, the upper bound
  for (const double difference : differences) {
    above.push_back(difference + margin);
    below.push_back(margin - difference);
  }
  const double low = above_zero_p(above), high = above_zero_p(below);
  return std::isnan(low) || std::isnan(high) ? std::nan("") : std::max(low, high);
}

double noise_floor(std::int64_t n, double std) {
  if (n < 2) return std::nan("");
  return student_bound(0.95, n - 1) * std::sqrt(2.0) * std;
}

std::optional<double> detectable_difference(std::int64_t pairs, double std, std::int64_t tests) {
  if (pairs < 2 || !(std > 0) || tests < 1) return {};
  const auto effect = detectable_effect(pairs, kAlpha / static_cast<double>(tests));
  return effect ? std::optional(*effect * std) : std::nullopt;
}

}  // namespace fovea::metrics
