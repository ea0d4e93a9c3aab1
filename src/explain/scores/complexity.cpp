#include "explain/scores/complexity.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fovea::explain {
namespace {

constexpr double kAllZero = std::numeric_limits<double>::quiet_NaN();

std::vector<double> sizes_of(std::span<const double> relevance) {
  std::vector<double> sizes;
  for (const double r : relevance) sizes.push_back(std::abs(r));
  return sizes;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

struct EffectiveOptions {
  double threshold = 1e-5;
};

double entropy_score(const Explained& e, const NoOptions&) {
  return relevance_entropy(e.relevance);
}
double gini_score(const Explained& e, const NoOptions&) { return relevance_gini(e.relevance); }
double effective_score(const Explained& e, const EffectiveOptions& options) {
  return static_cast<double>(effective_count(e.relevance, options.threshold));
}

}  // namespace

double relevance_entropy(std::span<const double> relevance) {
  const std::vector<double> sizes = sizes_of(relevance);
  const double sum = sum_of(sizes);
  if (!(sum > 0)) return kAllZero;
  double entropy = 0;
  for (const double size : sizes) {
    if (size > 0) entropy -= size / sum * std::log(size / sum);
  }
  return entropy;
}

double relevance_gini(std::span<const double> relevance) {
  std::vector<double> sizes = sizes_of(relevance);
  std::ranges::sort(sizes);
  const auto n = static_cast<double>(sizes.size());
  const double sum = sum_of(sizes);
  if (!(sum > 0)) return kAllZero;
  double weighted = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    weighted += (2 * static_cast<double>(i + 1) - n - 1) * sizes[i];
  return weighted / (n * sum);
}

std::int64_t effective_count(std::span<const double> relevance, double threshold) {
  const std::vector<double> sizes = sizes_of(relevance);
  const double largest = sizes.empty() ? 0 : *std::ranges::max_element(sizes);
  if (!(largest > 0)) return 0;
  return std::ranges::count_if(sizes, [&](double size) { return size / largest > threshold; });
}

FOVEA_SCORE(entropy, "entropy of |relevance| over the units, in nats",
            (ScoreRule{Better::kLower, {}}), schema::Fields<NoOptions>{}, entropy_score)
FOVEA_SCORE(gini, "Gini index of |relevance|: 0 for equal units, near 1 for a single one",
            (ScoreRule{Better::kHigher, {}}), schema::Fields<NoOptions>{}, gini_score)
FOVEA_SCORE(effective, "units whose |relevance| is above a share of the largest",
            (ScoreRule{Better::kNeither, {}}),
            schema::Fields<EffectiveOptions>{}.add("threshold", &EffectiveOptions::threshold,
                                                   schema::at_least(0), "this share"),
            effective_score)

}  // namespace fovea::explain
