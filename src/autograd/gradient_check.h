// Compares analytic gradients with central differences in float64.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/random.h"
#include "tensor/tensor.h"

namespace fovea::autograd {

struct GradientCheck {
  bool passed = true;
  double worst = 0;     // largest |analytic - numeric| / (atol + rtol |numeric|)
  std::string message;  // input, element, both values; empty if passed
};

struct GradientCheckOptions {
  double step = 1e-6;  // times max(1, |x|)
  double atol = 1e-6;
  double rtol = 1e-4;
  std::uint64_t seed = 7;  // of the random contraction of the output
};

/// `function` maps the inputs (float64 leaves; those without requires_grad are constants) to one
/// tensor of any shape. The output is contracted with fixed random values: a plain sum could not
/// see a permuted output. Every element of every input that requires a gradient is checked.
GradientCheck check_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                              const std::vector<Tensor>& inputs,
                              const GradientCheckOptions& options = {});

}  // namespace fovea::autograd
