// How concentrated relevance is. explain B.10.
#pragma once

#include "explain/scores/score.h"

namespace fovea::explain {

/// Of p = |r| / sum |r|, -sum p ln p in nats (Bhatt et al. 2020). NaN if all is 0.
double relevance_entropy(std::span<const double> relevance);
/// The Gini index of |r| (Chalasani et al. 2020): 0 for equal values, near 1 for a single one. NaN
/// if all is 0.
double relevance_gini(std::span<const double> relevance);
/// How many |r| are above `threshold` times the largest; 0 if all is 0.
std::int64_t effective_count(std::span<const double> relevance, double threshold);

}  // namespace fovea::explain
