// Whether the sign of relevance is that of the effect (Liu et al., Rethinking attention-model
// explainability through faithfulness violation test, ICML 2022). explain B.5.
#pragma once

#include "explain/scores/score.h"

namespace fovea::explain {

/// How much the probability of the class falls without each unit alone.
std::vector<double> unit_drops(const Explained& explained, const BaselineOptions& options);

/// The unit of the largest |relevance|, the first on ties. Throws NumericError for NaN.
std::int64_t strongest_unit(std::span<const double> relevance);
/// Whether the strongest unit's relevance has another sign than its effect.
bool violated(std::span<const double> relevance, std::span<const double> drops);
/// The share of |relevance| on units whose sign is that of their effect, of those where neither is
/// 0; NaN without such units.
double sign_agreement(std::span<const double> relevance, std::span<const double> drops);
/// The sum of what is positive over that of what is negative; NaN without negative relevance.
double positive_to_negative(std::span<const double> relevance);

}  // namespace fovea::explain
