#include "metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "metrics/statistics.h"
#include "tensor/random.h"

namespace fovea::metrics {
namespace {

std::vector<double> all_means(std::span<const double> values) {
  const std::size_t n = values.size();
  std::vector<std::size_t> chosen(n, 0);
  std::vector<double> means;
  for (;;) {
    double sum = 0;
    for (const std::size_t i : chosen) sum += values[i];
    means.push_back(sum / static_cast<double>(n));
    std::size_t at = 0;
    while (at < n && ++chosen[at] == n) chosen[at++] = 0;
    if (at == n) return means;
  }
}

std::vector<double> drawn_means(std::span<const double> values) {
  constexpr std::size_t kResamples = 9999;
  const auto n = static_cast<std::int64_t>(values.size());
  const RandomStream random = RandomStream(1).fork("bootstrap");
  std::vector<double> means(kResamples);
  std::uint64_t draw = 0;
  for (double& mean : means) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
      sum += values[static_cast<std::size_t>(random.below(n, draw++))];
    mean = sum / static_cast<double>(n);
  }
  return means;
}

// The quantile of sorted values, linear between two of them.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

// A sixth of the skewness of the means that leave one value out.
double acceleration(std::span<const double> values, double mean) {
  double squares = 0, cubes = 0;
  for (const double value : values) {
    const double away = (value - mean) / static_cast<double>(values.size() - 1);
    squares += away * away;
    cubes += away * away * away;
  }
  return cubes / (6 * std::pow(squares, 1.5));
}

}  // namespace

Interval bca_interval(std::span<const double> values) {
  const bool finite =
      std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  if (values.size() < kLeastResampled || values.size() > kMostResampled || !finite ||
      std::ranges::min(values) == std::ranges::max(values))
    return {std::nan(""), std::nan("")};
  constexpr std::size_t kMostWhole = 6;  // 46,656 resamples
  std::vector<double> means = values.size() <= kMostWhole ? all_means(values) : drawn_means(values);
  std::sort(means.begin(), means.end());
  const double mean = estimate(values).mean;
  // Sums in another order differ in their last bits; those equal to the mean count half.
  double scale = 0;
  for (const double value : values) scale = std::max(scale, std::abs(value));
  const double slack = 1e-12 * scale;
  const auto below = std::lower_bound(means.begin(), means.end(), mean - slack) - means.begin();
  const auto up_to = std::upper_bound(means.begin(), means.end(), mean + slack) - means.begin();
  const double bias =
      normal_quantile(static_cast<double>(below + up_to) / (2 * static_cast<double>(means.size())));
  const double skew = acceleration(values, mean);
  const auto bound = [&](double share) {
    const double z = bias + normal_quantile(share);
    return quantile(means, normal_below(bias + z / (1 - skew * z)));
  };
  return {bound(0.025), bound(0.975)};
}

}  // namespace fovea::metrics
