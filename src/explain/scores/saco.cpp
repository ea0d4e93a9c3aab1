#include "explain/scores/saco.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "explain/scores/order.h"

namespace fovea::explain {
namespace {

struct SacoOptions : BaselineOptions {
  SacoOptions() { baseline = Baseline::kMean; }
  std::int64_t groups = 10;
};

schema::Fields<SacoOptions> saco_fields() {
  schema::Fields<SacoOptions> fields;
  return add_baseline(fields).add("groups", &SacoOptions::groups, schema::at_least(2),
                                  "groups of units; best a divisor of their number");
}

double saco_score(const Explained& e, const SacoOptions& options) {
  const auto groups = relevance_groups(e.relevance, options.groups);
  return saco(group_sums(e.relevance, groups), group_drops(e, groups, options));
}

}  // namespace

std::vector<std::vector<std::int64_t>> relevance_groups(std::span<const double> relevance,
                                                        std::int64_t count) {
  const std::vector<std::int64_t> order = descending(relevance);
  const std::int64_t n = std::ssize(order), parts = std::min(count, n);
  std::vector<std::vector<std::int64_t>> groups;
  for (std::int64_t i = 0; i < parts; ++i)
    groups.emplace_back(order.begin() + i * n / parts, order.begin() + (i + 1) * n / parts);
  return groups;
}

std::vector<double> group_sums(std::span<const double> relevance,
                               std::span<const std::vector<std::int64_t>> groups) {
  std::vector<double> sums;
  for (const auto& group : groups) {
    double sum = 0;
    for (const std::int64_t unit : group) sum += relevance[static_cast<std::size_t>(unit)];
    sums.push_back(sum);
  }
  return sums;
}

std::vector<double> group_drops(const Explained& e,
                                std::span<const std::vector<std::int64_t>> groups,
                                const BaselineOptions& options) {
  const Image other = baseline_image(e.image, options, e.colours);
  const Replacement replace(*e.units, e.image);
  const auto answers =
      e.network->ask(e.image, e.target, std::ssize(groups) + 1, [&](std::int64_t k, Image& image) {
        if (k == 0) return;
        replace(image, other, groups[static_cast<std::size_t>(k - 1)]);
      });
  std::vector<double> drops;
  for (std::size_t k = 1; k < answers.size(); ++k)
    drops.push_back(answers[0].probability - answers[k].probability);
  return drops;
}

double saco(std::span<const double> sums, std::span<const double> drops) {
  FOVEA_CHECK(sums.size() == drops.size(), ShapeError,
              fmt::format("saco: {} sums of relevance and {} drops; expected one of each for every "
                          "group",
                          sums.size(), drops.size()));
  double total = 0, size = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (std::size_t j = i + 1; j < sums.size(); ++j) {
      const double difference = sums[i] - sums[j];
      total += drops[i] >= drops[j] ? difference : -difference;
      size += std::abs(difference);
    }
  }
  return size > 0 ? total / size : 0;
}

FOVEA_SCORE(saco,
            "whether groups of units with more relevance lower the probability of the class more "
            "when they alone are removed, -1 to 1 (SaCo)",
            (ScoreRule{Better::kHigher, {Need::kImage}}), saco_fields(), saco_score)

}  // namespace fovea::explain
