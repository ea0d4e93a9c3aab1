// Comprehensiveness and sufficiency of explanations of texts (DeYoung et al., ERASER, 2020).
// explain B.6.
#pragma once

#include "explain/scores/score.h"

namespace fovea::explain {

/// How tokens are taken out: later ones move up, or padding stands in their place.
enum class Removal { kDelete, kPad };

struct ErasureOptions {
  Removal removal = Removal::kDelete;
  std::vector<double> fractions = {0.01, 0.05, 0.1, 0.2, 0.5};
};

/// What the probability of the class loses, for each fraction q of the n tokens that are no
/// padding: max(1, floor(q n + 0.5)) tokens of the most relevance are removed, or only they are
/// kept. The scores are the means. A text without a token left counts as one valid token of
/// padding.
struct Erasure {
  std::vector<double> comprehensiveness_at, sufficiency_at;
  double comprehensiveness = 0, sufficiency = 0;
};
/// Relevance of padding is not looked at. Throws ConfigError without fractions, ShapeError for a
/// text of padding alone.
Erasure erasure(const Explained& explained, const ErasureOptions& options);

}  // namespace fovea::explain
