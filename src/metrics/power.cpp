#include "metrics/power.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "metrics/statistics.h"
#include "tensor/random.h"

namespace fovea::metrics {
namespace {

constexpr std::int64_t kMostDrawn = 12;
constexpr std::int64_t kMostPairs = 10000;
constexpr std::size_t kExperiments = 20000;

// Standard normal differences of all experiments, one after another.
std::vector<double> normal_draws(std::int64_t n) {
  const RandomStream random = RandomStream(1).fork("power");
  std::vector<double> draws(kExperiments * static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < draws.size(); ++i) draws[i] = static_cast<double>(random.normal(i));
  return draws;
}

// Whether at most `most` of the sign patterns with the first sign kept have a sum as far from 0 as
// the one observed. Patterns follow Gray's order, so that one sign changes at a time.
bool is_extreme(const double* differences, std::int64_t n, std::int64_t most) {
  double observed = 0, scale = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    observed += differences[i];
    scale += std::abs(differences[i]);
  }
  const double bound = std::abs(observed) - 1e-12 * scale;
  std::array<double, kMostDrawn> now{};
  std::copy_n(differences, n, now.begin());
  double sum = observed;
  std::int64_t found = 1;
  for (std::uint32_t step = 1; step < 1U << (n - 1) && found <= most; ++step) {
    double& flipped = now[static_cast<std::size_t>(std::countr_zero(step)) + 1];
    sum -= 2 * flipped;
    flipped = -flipped;
    found += std::abs(sum) >= bound ? 1 : 0;
  }
  return found <= most;
}

double drawn_power(std::int64_t n, double alpha, double effect) {
  // p is a multiple of 1 / 2^(n - 1).
  const auto most = static_cast<std::int64_t>(alpha * std::exp2(n - 1) * (1 + 1e-12));
  if (most < 1) return 0;
  static thread_local std::map<std::int64_t, std::vector<double>> kept;
  std::vector<double>& draws = kept[n];
  if (draws.empty()) draws = normal_draws(n);
  std::size_t shown = 0;
  std::array<double, kMostDrawn> differences{};
  for (std::size_t k = 0; k < kExperiments; ++k) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      differences[at] = draws[k * static_cast<std::size_t>(n) + at] + effect;
    }
    shown += is_extreme(differences.data(), n, most) ? 1 : 0;
  }
  return static_cast<double>(shown) / static_cast<double>(kExperiments);
}

// P(|T| > bound) of the noncentral t distribution: the mean over the spread s that an experiment
// finds, a chi variable over the root of its degrees of freedom (Simpson's rule).
double student_power(std::int64_t n, double alpha, double effect) {
  const double bound = student_bound(1 - alpha, n - 1);
  const double shift = effect * std::sqrt(static_cast<double>(n));
  const auto dof = static_cast<double>(n - 1);
  const double log_scale = std::log(2.0) + dof / 2 * std::log(dof / 2) - std::lgamma(dof / 2);
  const double wide = 10 / std::sqrt(2 * dof);
  const double low = std::max(0.0, 1 - wide), high = 1 + wide;
  constexpr int kSteps = 2000;
  double sum = 0;
  for (int k = 0; k <= kSteps; ++k) {
    const double s = low + (high - low) * k / kSteps;
    if (s <= 0) continue;
    const double density = std::exp(log_scale + (dof - 1) * std::log(s) - dof * s * s / 2);
    const double beyond = normal_below(shift - bound * s) + normal_below(-shift - bound * s);
    const int weight = k == 0 || k == kSteps ? 1 : k % 2 == 1 ? 4 : 2;
    sum += weight * density * beyond;
  }
  return std::min(1.0, sum * (high - low) / (3 * kSteps));
}

}  // namespace

double sign_flip_power(std::int64_t n, double alpha, double effect) {
  return n <= kMostDrawn ? drawn_power(n, alpha, effect) : student_power(n, alpha, effect);
}

std::optional<double> detectable_effect(std::int64_t n, double alpha) {
  if (smallest_p(n) > alpha) return {};
  static thread_local std::map<std::pair<std::int64_t, double>, double> kept;
  const auto [found, is_new] = kept.try_emplace({n, alpha});
  if (!is_new) return found->second;
  double low = 0, high = 1;
  while (sign_flip_power(n, alpha, high) < kPower) high *= 2;
  while (high - low > 1e-3 * high) {
    const double middle = (low + high) / 2;
    (sign_flip_power(n, alpha, middle) < kPower ? low : high) = middle;
  }
  found->second = high;
  return high;
}

std::optional<PairsNeeded> pairs_for(double effect, double alpha) {
  std::int64_t low = pairs_needed(alpha) - 1, high = low + 1;
  while (sign_flip_power(high, alpha, effect) < kPower) {
    if (high >= kMostPairs) return {};
    low = high;
    high = std::min(kMostPairs, 2 * high);
  }
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (sign_flip_power(middle, alpha, effect) < kPower ? low : high) = middle;
  }
  return PairsNeeded{high, sign_flip_power(high, alpha, effect)};
}

}  // namespace fovea::metrics
