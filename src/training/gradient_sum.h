// The gradients of a step that has several micro-batches.
#pragma once

#include <vector>

#include "optim/optimiser.h"

namespace fovea::training {

/// Sums gradients over micro-batches from left to right, ((g0 + g1) + g2) + ..., each of them made
/// alone: a parameter that a network uses more than once has all of g1 before it is added. So the
/// sum does not depend on where micro-batches are computed.
class GradientSum {
 public:
  /// The parameters have no gradients yet.
  explicit GradientSum(const std::vector<optim::Parameter>& parameters)
      : parameters_(parameters), sums_(parameters.size()) {}

  /// Adds the gradients of the parameters, which then have none.
  void add();
  /// Gives the sums to the parameters. Those that no micro-batch reached have no gradient.
  void finish();

 private:
  const std::vector<optim::Parameter>& parameters_;
  std::vector<Tensor> sums_;
};

}  // namespace fovea::training
