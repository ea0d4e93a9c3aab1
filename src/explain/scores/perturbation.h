// Positive and negative perturbation (Chefer et al., Transformer interpretability beyond attention
// visualization, CVPR 2021). explain B.3.
#pragma once

#include <array>

#include "explain/scores/score.h"

namespace fovea::explain {

/// What the network says with floor(q units) units removed, q = 0.1 ... 0.9, each from the whole
/// image.
struct Perturbation {
  bool clean_hit = false;         // the whole image is of the class
  std::array<bool, 9> hits = {};  // so is the rest
  std::array<double, 9> probability = {};

  /// The area under hits over q in [0, 0.9], by trapezoids, divided by 0.9. The area of a data set
  /// is the mean of those of its images.
  double auc() const;
};

/// `most_first`: the most relevant units go first (positive), else the least relevant (negative).
Perturbation perturbed(const Explained& explained, bool most_first, const BaselineOptions& options);

}  // namespace fovea::explain
