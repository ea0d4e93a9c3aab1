#include "explain/scores/violation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "explain/scores/order.h"
#include "explain/scores/saco.h"

namespace fovea::explain {
namespace {

void check_drops(std::span<const double> relevance, std::span<const double> drops) {
  FOVEA_CHECK(relevance.size() == drops.size(), ShapeError,
              fmt::format("violation: relevance of {} units and {} drops; expected as many",
                          relevance.size(), drops.size()));
}

double violation_score(const Explained& e, const BaselineOptions& options) {
  const std::int64_t unit = strongest_unit(e.relevance);
  const std::vector<std::vector<std::int64_t>> alone{{unit}};
  const double drop = group_drops(e, alone, options).front();
  return e.relevance[static_cast<std::size_t>(unit)] * drop < 0 ? 1 : 0;
}

double sign_agreement_score(const Explained& e, const BaselineOptions& options) {
  return sign_agreement(e.relevance, unit_drops(e, options));
}

double pnr_score(const Explained& e, const NoOptions&) { return positive_to_negative(e.relevance); }

schema::Fields<BaselineOptions> violation_fields() {
  schema::Fields<BaselineOptions> fields;
  return add_baseline(fields);
}

}  // namespace

std::vector<double> unit_drops(const Explained& e, const BaselineOptions& options) {
  std::vector<std::vector<std::int64_t>> alone;
  for (std::int64_t unit = 0; unit < e.units->count(); ++unit) alone.push_back({unit});
  return group_drops(e, alone, options);
}

std::int64_t strongest_unit(std::span<const double> relevance) {
  std::vector<double> sizes;
  for (const double r : relevance) sizes.push_back(std::abs(r));
  return descending(sizes).front();
}

bool violated(std::span<const double> relevance, std::span<const double> drops) {
  check_drops(relevance, drops);
  const auto unit = static_cast<std::size_t>(strongest_unit(relevance));
  return relevance[unit] * drops[unit] < 0;
}

double sign_agreement(std::span<const double> relevance, std::span<const double> drops) {
  check_drops(relevance, drops);
  double agreed = 0, all = 0;
  for (std::size_t j = 0; j < relevance.size(); ++j) {
    const double effect = relevance[j] * drops[j];
    if (effect > 0) agreed += std::abs(relevance[j]);
    if (effect != 0) all += std::abs(relevance[j]);
  }
  return all > 0 ? agreed / all : std::numeric_limits<double>::quiet_NaN();
}

double positive_to_negative(std::span<const double> relevance) {
  double positive = 0, negative = 0;
  for (const double r : relevance) (r > 0 ? positive : negative) += std::abs(r);
  return negative > 0 ? positive / negative : std::numeric_limits<double>::quiet_NaN();
}

FOVEA_SCORE(
    violation,
    "1 if removing the unit of the largest |relevance| changes the probability of the class "
    "against its sign, else 0",
    (ScoreRule{Better::kLower, {Need::kImage}}), violation_fields(), violation_score)
FOVEA_SCORE(sign_agreement,
            "share of |relevance| on units whose removal changes the probability of the class as "
            "their sign says",
            (ScoreRule{Better::kHigher, {Need::kImage}}), violation_fields(), sign_agreement_score)
FOVEA_SCORE(pnr, "sum of positive relevance over that of negative relevance",
            (ScoreRule{Better::kNeither, {}}), schema::Fields<NoOptions>{}, pnr_score)

}  // namespace fovea::explain
