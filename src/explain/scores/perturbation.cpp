#include "explain/scores/perturbation.h"

#include "explain/scores/order.h"

namespace fovea::explain {
namespace {

// The area, and the hits over the share of removed units.
Scored scored(const Perturbation& perturbation) {
  std::vector<double> shares{0}, hits{perturbation.clean_hit ? 1.0 : 0.0};
  for (std::size_t level = 0; level < perturbation.hits.size(); ++level) {
    shares.push_back(static_cast<double>(level + 1) / 10);
    hits.push_back(perturbation.hits[level] ? 1 : 0);
  }
  return {perturbation.auc(), shares, hits};
}

Scored positive_perturbation(const Explained& e, const BaselineOptions& options) {
  return scored(perturbed(e, true, options));
}
Scored negative_perturbation(const Explained& e, const BaselineOptions& options) {
  return scored(perturbed(e, false, options));
}

schema::Fields<BaselineOptions> perturbation_fields() {
  schema::Fields<BaselineOptions> fields;
  return add_baseline(fields);
}

}  // namespace

double Perturbation::auc() const {
  double sum = 0, before = clean_hit ? 1 : 0;
  for (const bool hit : hits) {
    const double now = hit ? 1 : 0;
    sum += (before + now) / 2;
    before = now;
  }
  return sum / static_cast<double>(hits.size());
}

Perturbation perturbed(const Explained& e, bool most_first, const BaselineOptions& options) {
  const std::vector<std::int64_t> order =
      most_first ? descending(e.relevance) : ascending(e.relevance);
  const Image other = baseline_image(e.image, options, e.colours);
  const Replacement replace(*e.units, e.image);
  Perturbation result;
  const std::int64_t levels = std::ssize(result.hits);
  const auto answers =
      e.network->ask(e.image, e.target, levels + 1, [&](std::int64_t level, Image& image) {
        const std::int64_t count = level * e.units->count() / 10;  // floor(q units), exactly
        replace(image, other, std::span(order).first(static_cast<std::size_t>(count)));
      });
  result.clean_hit = answers.front().predicted == e.target;
  for (std::size_t level = 0; level < result.hits.size(); ++level) {
    result.hits[level] = answers[level + 1].predicted == e.target;
    result.probability[level] = answers[level + 1].probability;
  }
  return result;
}

FOVEA_SCORE(positive_perturbation,
            "how often the class is still predicted while units are removed, the most relevant "
            "first: area over the shares 0 to 0.9",
            (ScoreRule{Better::kLower, {Need::kImage}}), perturbation_fields(),
            positive_perturbation)
FOVEA_SCORE(negative_perturbation,
            "how often the class is still predicted while units are removed, the least relevant "
            "first: area over the shares 0 to 0.9",
            (ScoreRule{Better::kHigher, {Need::kImage}}), perturbation_fields(),
            negative_perturbation)

}  // namespace fovea::explain
