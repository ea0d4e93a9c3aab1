#include "explain/scores/curves.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "explain/scores/order.h"

namespace fovea::explain {
namespace {

using schema::at_least;

std::vector<double> watched(const std::vector<Answer>& answers, Watch watch) {
  std::vector<double> values;
  for (const Answer& answer : answers)
    values.push_back(watch == Watch::kLogit ? answer.logit : answer.probability);
  return values;
}

// Values with the first min(t step, units) of the order taken from `other`, from t = 0 on.
Curve curve_of(const Explained& e, const Image& start, const Image& other,
               const CurveOptions& options) {
  const std::int64_t units = e.units->count();
  const std::int64_t step = options.step.value_or((units + 63) / 64);
  const std::int64_t steps = (units + step - 1) / step;
  const std::vector<std::int64_t> order = descending(e.relevance);
  const Replacement replace(*e.units, e.image);
  const auto changed = [&](std::int64_t t) { return std::min(t * step, units); };
  const auto change = [&](std::int64_t t, Image& image) {
    replace(image, other, std::span(order).first(static_cast<std::size_t>(changed(t))));
  };
  Curve curve;
  curve.values = watched(e.network->ask(start, e.target, steps + 1, change), options.watch);
  for (std::int64_t t = 0; t <= steps; ++t)
    curve.shares.push_back(static_cast<double>(changed(t)) / static_cast<double>(units));
  for (std::int64_t t = 1; t <= steps; ++t) {
    const double share =
        static_cast<double>(changed(t) - changed(t - 1)) / static_cast<double>(units);
    const auto i = static_cast<std::size_t>(t);
    curve.auc += share * (curve.values[i] + curve.values[i - 1]) / 2;
  }
  return curve;
}

Scored scored(const Curve& curve) { return {curve.auc, curve.shares, curve.values}; }

Scored deletion(const Explained& e, const CurveOptions& options) {
  return scored(deletion_curve(e, options));
}
Scored insertion(const Explained& e, const CurveOptions& options) {
  return scored(insertion_curve(e, options));
}

schema::Fields<CurveOptions> curve_fields(Baseline baseline) {
  CurveOptions defaults;
  defaults.baseline = baseline;
  schema::Fields<CurveOptions> fields(defaults);
  return add_baseline(fields)
      .add("step", &CurveOptions::step, at_least(1), "units a step; null = ceil(units / 64)")
      .add_enum("score", &CurveOptions::watch,
                {{"prob", Watch::kProbability}, {"logit", Watch::kLogit}},
                "what is watched: the probability or the logit of the class");
}

}  // namespace

Curve deletion_curve(const Explained& e, const CurveOptions& options) {
  return curve_of(e, e.image, baseline_image(e.image, options, e.colours), options);
}

Curve insertion_curve(const Explained& e, const CurveOptions& options) {
  return curve_of(e, baseline_image(e.image, options, e.colours), e.image, options);
}

Curve pixel_flipping(const Explained& e, std::span<const double> features,
                     std::int64_t features_in_step, const CurveOptions& options) {
  const std::int64_t count = std::ssize(features);
  FOVEA_CHECK(
      features.size() == e.image.values.size(), ShapeError,
      fmt::format("pixel flipping: {} attributions; expected one for each of the image's {} "
                  "values",
                  features.size(), e.image.values.size()));
  FOVEA_CHECK(features_in_step >= 1 && count % features_in_step == 0, ConfigError,
              fmt::format("pixel flipping: {} features a step; expected a divisor of {}",
                          features_in_step, count));
  const std::vector<std::int64_t> order = descending(features);
  const Image other = baseline_image(e.image, options, e.colours);
  const auto change = [&](std::int64_t t, Image& image) {
    for (std::int64_t k = 0; k < (t + 1) * features_in_step; ++k) {
      const auto at = static_cast<std::size_t>(order[static_cast<std::size_t>(k)]);
      image.values[at] = other.values[at];
    }
  };
  Curve curve;
  curve.values =
      watched(e.network->ask(e.image, e.target, count / features_in_step, change), options.watch);
  for (std::size_t t = 1; t < curve.values.size(); ++t)
    curve.auc += (curve.values[t] + curve.values[t - 1]) / 2;
  return curve;
}

std::vector<double> region_perturbation(const Explained& e, bool most_first,
                                        const CurveOptions& options) {
  const std::vector<std::int64_t> order =
      most_first ? descending(e.relevance) : ascending(e.relevance);
  const Image other = baseline_image(e.image, options, e.colours);
  const Replacement replace(*e.units, e.image);
  const auto change = [&](std::int64_t t, Image& image) {
    replace(image, other, std::span(order).first(static_cast<std::size_t>(t)));
  };
  const std::vector<double> values =
      watched(e.network->ask(e.image, e.target, e.units->count() + 1, change), options.watch);
  std::vector<double> drops;
  for (std::size_t t = 1; t < values.size(); ++t) drops.push_back(values[0] - values[t]);
  return drops;
}

FOVEA_SCORE(deletion,
            "area under the probability of the class while units are replaced by a baseline, the "
            "most relevant first",
            (ScoreRule{Better::kLower, {Need::kImage}}), curve_fields(Baseline::kZero), deletion)
FOVEA_SCORE(insertion,
            "area under the probability of the class while units are put back into a baseline, the "
            "most relevant first",
            (ScoreRule{Better::kHigher, {Need::kImage}}), curve_fields(Baseline::kBlur), insertion)

}  // namespace fovea::explain
