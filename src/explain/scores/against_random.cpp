#include "explain/scores/against_random.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace fovea::explain {
namespace {

double win_rate_of(std::span<const double> differences) {
  double wins = 0;
  for (const double d : differences) wins += d > 0 ? 1 : d == 0 ? 0.5 : 0;
  return wins / static_cast<double>(differences.size());  // 0 / 0 is NaN
}

}  // namespace

std::vector<double> mean_over_seeds(std::span<const std::vector<double>> random) {
  FOVEA_CHECK(!random.empty(), ShapeError,
              "statistics: no scores of random relevance; expected at least one seed");
  for (const std::vector<double>& seed : random) {
    FOVEA_CHECK(seed.size() == random.front().size(), ShapeError,
                fmt::format("statistics: seeds of {} and of {} images; expected as many",
                            random.front().size(), seed.size()));
  }
  std::vector<double> means;
  for (std::size_t i = 0; i < random.front().size(); ++i) {
    double sum = 0;
    std::int64_t count = 0;
    for (const std::vector<double>& seed : random) {
      if (std::isnan(seed[i])) continue;
      sum += seed[i];
      ++count;
    }
    means.push_back(count > 0 ? sum / static_cast<double>(count)
                              : std::numeric_limits<double>::quiet_NaN());
  }
  return means;
}

metrics::Verdict AgainstRandom::verdict() const {
  return metrics::verdict_of(p_holm, difference.mean, true);
}

AgainstRandom compared(std::span<const double> a, std::span<const double> b, Better better) {
  FOVEA_CHECK(a.size() == b.size(), ShapeError,
              fmt::format("statistics: scores of {} and of {} images; expected as many", a.size(),
                          b.size()));
  const double sign = better == Better::kLower ? -1 : 1;
  std::vector<double> defined, differences;
  AgainstRandom result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isnan(a[i])) defined.push_back(a[i]);
    if (std::isnan(a[i]) || std::isnan(b[i])) {
      ++result.left_out;
    } else {
      differences.push_back(sign * (a[i] - b[i]));
    }
  }
  result.value = metrics::estimate(defined);
  result.difference = metrics::estimate(differences);
  result.p = result.p_holm = metrics::sign_flip_p(differences);
  result.win_rate = win_rate_of(differences);
  return result;
}

std::vector<AgainstRandom> against_random(std::span<const std::vector<double>> values,
                                          std::span<const std::vector<double>> random,
                                          Better better) {
  const std::vector<double> chance = mean_over_seeds(random);
  std::vector<AgainstRandom> results;
  for (const std::vector<double>& method : values)
    results.push_back(compared(method, chance, better));
  adjust(results);
  return results;
}

void adjust(std::span<AgainstRandom> rows) {
  std::vector<double> p_values;
  for (const AgainstRandom& row : rows) p_values.push_back(row.p);
  const std::vector<double> adjusted = metrics::holm(p_values);
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k].p_holm = adjusted[k];
}

std::string too_few(std::int64_t images) {
  const std::int64_t needed = metrics::pairs_needed(metrics::kAlpha);
  if (images >= needed) return "";
  return fmt::format(
      "{} images are too few to tell a method from chance at {}: at least {} are "
      "needed",
      images, metrics::kAlpha, needed);
}

}  // namespace fovea::explain
