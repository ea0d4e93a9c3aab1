#include "metrics/classes/ranked_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"

namespace fovea::metrics {

std::vector<RankedSamples> ranked_samples(std::span<const double> scores,
                                          std::span<const std::uint8_t> positive) {
  FOVEA_CHECK(scores.size() == positive.size(), ShapeError,
              fmt::format("ranked samples: {} scores and {} classes; expected as many",
                          scores.size(), positive.size()));
  std::vector<std::pair<double, bool>> samples;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) return {};
    samples.emplace_back(scores[i], positive[i] != 0);
  }
  std::sort(samples.begin(), samples.end(), std::greater<>());
  std::vector<RankedSamples> ranked;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i == 0 || samples[i].first != samples[i - 1].first) ranked.emplace_back();
    ++(samples[i].second ? ranked.back().positives : ranked.back().negatives);
  }
  return ranked;
}

std::vector<RankedSamples> ranked_samples(const ClassPredictions& predictions, std::int64_t c) {
  std::vector<double> probabilities;
  std::vector<std::uint8_t> positive;
  for (std::int64_t i = 0; i < predictions.size(); ++i) {
    probabilities.push_back(predictions.row(i)[static_cast<std::size_t>(c)]);
    positive.push_back(predictions.labels[static_cast<std::size_t>(i)] == c ? 1 : 0);
  }
  return ranked_samples(probabilities, positive);
}

double area_under_roc(const std::vector<RankedSamples>& ranked) {
  std::int64_t positives = 0, negatives = 0, twice_right = 0;
  for (const RankedSamples& equal : ranked) {
    twice_right += equal.negatives * (2 * positives + equal.positives);
    positives += equal.positives;
    negatives += equal.negatives;
  }
  return static_cast<double>(twice_right) /
         (2 * static_cast<double>(positives) * static_cast<double>(negatives));
}

double average_precision(const std::vector<RankedSamples>& ranked) {
  double sum = 0;
  std::int64_t positives = 0, samples = 0;
  for (const RankedSamples& equal : ranked) {
    positives += equal.positives;
    samples += equal.positives + equal.negatives;
    sum += static_cast<double>(equal.positives) * static_cast<double>(positives) /
           static_cast<double>(samples);
  }
  return positives == 0 ? std::numeric_limits<double>::quiet_NaN()
                        : sum / static_cast<double>(positives);
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
