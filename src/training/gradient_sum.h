// The gradients of a step that has several micro-batches.
#pragma once

#include <optional>
#include <vector>

#include "optim/optimiser.h"
#include "parallel/ordered_sum.h"
#include "parallel/ranks.h"

namespace fovea::training {

/// Sums gradients over micro-batches from left to right, ((g0 + g1) + g2) + ..., each of them made
/// alone: a parameter that a network uses more than once has all of g1 before it is added. So the
/// sum does not depend on where micro-batches are computed.
class GradientSum {
 public:
  /// The parameters have no gradients yet. Both outlive the sum. Throws ConfigError for several
  /// ranks and parameters of another type than float32.
  GradientSum(const std::vector<optim::Parameter>& parameters, parallel::Ranks& ranks);

  /// Adds the gradients of the parameters, which then have none. Of several ranks all do so
  /// together, each for a micro-batch of its own or, without `own`, for none; they count in the
  /// order of ranks.
  void add(bool own = true);
  /// Gives the sums to the parameters, on all ranks, and begins anew. Parameters that no
  /// micro-batch reached have no gradient.
  void finish();

 private:
  Tensor taken(std::size_t i) const;

  const std::vector<optim::Parameter>& parameters_;
  std::vector<Tensor> sums_;                    // of one process
  std::optional<parallel::OrderedSum> shared_;  // of several
  parallel::OrderedSum::List list_;
};

}  // namespace fovea::training
