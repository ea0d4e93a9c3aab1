// Samples in the order of the probability that they are of a class, for scores of that order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "metrics/classes/class_score.h"

namespace fovea::metrics {

/// Samples of one probability: how many are of the class, and how many are not.
struct RankedSamples {
  std::int64_t positives = 0, negatives = 0;
};
/// Samples by their score, the highest first; `positive` is not 0 for those of the class. Nothing
/// where a score is NaN, which has no rank. Throws ShapeError unless both are as long.
std::vector<RankedSamples> ranked_samples(std::span<const double> scores,
                                          std::span<const std::uint8_t> positive);
/// The share of pairs of a positive and a negative in which the positive has the higher score;
/// equal ones count half: the area under the ROC curve. NaN without pairs.
double area_under_roc(const std::vector<RankedSamples>& ranked);
/// The sum over thresholds of precision times the gain in recall, as scikit-learn has it: without
/// interpolation. NaN without positives.
double average_precision(const std::vector<RankedSamples>& ranked);
/// The samples by their probability of class c, the highest first. Nothing where a probability is
/// NaN, which has no rank.
std::vector<RankedSamples> ranked_samples(const ClassPredictions& predictions, std::int64_t c);

/// A score of each class against all others; of two classes that of the second one alone, which is
/// scikit-learn's for two classes.
std::vector<double> one_versus_rest(
    const ClassPredictions& predictions,
    const std::function<double(const std::vector<RankedSamples>&)>& score);

}  // namespace fovea::metrics
