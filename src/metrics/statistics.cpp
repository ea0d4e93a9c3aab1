#include "metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "tensor/random.h"

namespace fovea::metrics {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostExact = 20;  // 2^20 sums take milliseconds

}  // namespace

Estimate estimate(std::span<const double> values) {
  Estimate result;
  result.n = static_cast<std::int64_t>(values.size());
  if (values.empty()) {
    result.mean = result.std = result.low = result.high = kNaN;
    return result;
  }
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  result.mean = sum / n;
  if (values.size() == 1) {
    result.std = result.low = result.high = kNaN;
    return result;
  }
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.std = std::sqrt(squares / (n - 1));
  const double half = student_bound(0.95, result.n - 1) * result.std / std::sqrt(n);
  result.low = result.mean - half;
  result.high = result.mean + half;
  return result;
}

double student_inside(double t, std::int64_t dof) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(dof)));
  const double cos2 = std::cos(angle) * std::cos(angle);
  const bool odd = dof % 2 == 1;
  double term = odd ? std::cos(angle) : 1.0;
  double sum = dof == 1 ? 0.0 : term;
  for (std::int64_t k = odd ? 3 : 2; k <= dof - 2; k += 2) {
    term *= cos2 * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  const double tail = std::sin(angle) * sum;
  return odd ? 2 / std::numbers::pi * (angle + tail) : tail;
}

double student_bound(double inside, std::int64_t dof) {
  double low = 0;
  double high = 1;
  while (student_inside(high, dof) < inside && high < 1e12) high *= 2;
  for (int step = 0; step < 200 && low < high; ++step) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    (student_inside(middle, dof) < inside ? low : high) = middle;
  }
  return (low + high) / 2;
}

double normal_below(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

double normal_quantile(double share) {
  double low = -40, high = 40;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (normal_below(middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

double exact_p(std::span<const double> differences) {
  if (differences.empty() || differences.size() > kMostExact) return kNaN;
  double observed = 0;
  double scale = 0;
  for (const double difference : differences) {
    observed += difference;
    scale += std::abs(difference);
  }
  if (!std::isfinite(scale)) return kNaN;
  // Sums in another order differ in their last bits; equal ones must count as equal.
  const double bound = std::abs(observed) - 1e-12 * scale;
  const std::size_t flips = std::size_t{1} << differences.size();
  std::size_t extreme = 0;
  for (std::size_t flip = 0; flip < flips; ++flip) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      sum += (flip >> i & 1U) != 0 ? -differences[i] : differences[i];
    }
    if (std::abs(sum) >= bound) ++extreme;
  }
  return static_cast<double>(extreme) / static_cast<double>(flips);
}

namespace {

// Those that are not 0; nothing where a test means nothing.
std::optional<std::vector<double>> that_differ(std::span<const double> differences) {
  std::vector<double> found;
  for (const double difference : differences) {
    if (!std::isfinite(difference)) return {};
    if (difference != 0) found.push_back(difference);
  }
  return differences.empty() ? std::nullopt : std::optional(found);
}

// Twice the ranks of the absolute values, so that shared ones are whole.
std::vector<std::int64_t> doubled_ranks(const std::vector<double>& values) {
  std::vector<double> sorted;
  for (const double value : values) sorted.push_back(std::abs(value));
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int64_t> ranks;
  for (const double value : values) {
    const auto [first, end] = std::equal_range(sorted.begin(), sorted.end(), std::abs(value));
    ranks.push_back((first - sorted.begin()) + (end - sorted.begin()) + 1);
  }
  return ranks;
}

// Twice the smaller tail of the sum of the ranks whose sign is positive.
double exact_rank_p(const std::vector<std::int64_t>& ranks, std::int64_t positive) {
  std::vector<double> ways = {1};  // by sum
  for (const std::int64_t rank : ranks) {
    const auto step = static_cast<std::size_t>(rank);
    ways.resize(ways.size() + step);
    for (std::size_t sum = ways.size(); sum-- > step;) ways[sum] += ways[sum - step];
  }
  double below = 0, above = 0, all = 0;
  for (std::size_t sum = 0; sum < ways.size(); ++sum) {
    const auto at = static_cast<std::int64_t>(sum);
    all += ways[sum];
    below += at <= positive ? ways[sum] : 0;
    above += at >= positive ? ways[sum] : 0;
  }
  return std::min(1.0, 2 * std::min(below, above) / all);
}

double normal_rank_p(const std::vector<std::int64_t>& ranks, std::int64_t positive) {
  double mean = 0, variance = 0;
  for (const std::int64_t rank : ranks) {
    const double half = static_cast<double>(rank) / 2;
    mean += half / 2;
    variance += half * half / 4;  // of a sum of independent terms, so ties are in it
  }
  const double away = std::abs(static_cast<double>(positive) / 2 - mean);
  return std::min(1.0, std::erfc(std::max(0.0, away - 0.5) / std::sqrt(2 * variance)));
}

}  // namespace

double sign_flip_p(std::span<const double> given) {
  const auto differences = that_differ(given);
  if (!differences) return kNaN;
  if (differences->empty()) return 1;
  if (differences->size() <= kMostExact) return exact_p(*differences);
  double observed = 0, scale = 0;
  for (const double difference : *differences) {
    observed += difference;
    scale += std::abs(difference);
  }
  const double bound = std::abs(observed) - 1e-12 * scale;
  constexpr std::uint64_t kFlips = 9999;
  const RandomStream random = RandomStream(1).fork("sign flips");
  std::uint64_t extreme = 1;  // the one observed
  std::uint64_t word = 0;
  for (std::uint64_t flip = 0; flip < kFlips; ++flip) {
    double sum = 0;
    std::uint32_t signs = 0;
    for (std::size_t i = 0; i < differences->size(); ++i) {
      if (i % 32 == 0) signs = random.word(word++);
      sum += (signs >> i % 32 & 1U) != 0 ? -(*differences)[i] : (*differences)[i];
    }
    extreme += std::abs(sum) >= bound ? 1 : 0;
  }
  return static_cast<double>(extreme) / static_cast<double>(kFlips + 1);
}

double signed_rank_p(std::span<const double> given) {
  const auto differences = that_differ(given);
  if (!differences) return kNaN;
  if (differences->empty()) return 1;
  constexpr std::size_t kMostExactRanks = 50;
  const std::vector<std::int64_t> ranks = doubled_ranks(*differences);
  std::int64_t positive = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) positive += (*differences)[i] > 0 ? ranks[i] : 0;
  return ranks.size() <= kMostExactRanks ? exact_rank_p(ranks, positive)
                                         : normal_rank_p(ranks, positive);
}

double smallest_p(std::int64_t n) { return n < 1 ? 1.0 : std::exp2(1.0 - static_cast<double>(n)); }

std::int64_t pairs_needed(double alpha) {
  std::int64_t n = 1;
  while (smallest_p(n) > alpha && n < 1000) ++n;
  return n;
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size(), kNaN);
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto left = static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, left * p_values[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

double median(std::vector<double> values) {
  if (values.empty()) return kNaN;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace fovea::metrics
