#include "metrics/classes/ranked_samples.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fovea::metrics {

std::vector<RankedSamples> ranked_samples(const ClassPredictions& predictions, std::int64_t c) {
  std::vector<std::pair<float, bool>> samples;  // probability, whether it is of the class
  for (std::int64_t i = 0; i < predictions.size(); ++i) {
    const float probability = predictions.row(i)[static_cast<std::size_t>(c)];
    if (std::isnan(probability)) return {};
    samples.emplace_back(probability, predictions.labels[static_cast<std::size_t>(i)] == c);
  }
  std::sort(samples.begin(), samples.end(), std::greater<>());
  std::vector<RankedSamples> ranked;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i == 0 || samples[i].first != samples[i - 1].first) ranked.emplace_back();
    ++(samples[i].second ? ranked.back().positives : ranked.back().negatives);
  }
  return ranked;
}

std::vector<double> one_versus_rest(
    const ClassPredictions& predictions,
    const std::function<double(const std::vector<RankedSamples>&)>& score) {
  if (predictions.num_classes == 2) return {score(ranked_samples(predictions, 1))};
  std::vector<double> scores;
  for (std::int64_t c = 0; c < predictions.num_classes; ++c)
    scores.push_back(score(ranked_samples(predictions, c)));
  return scores;
}

}  // namespace fovea::metrics
