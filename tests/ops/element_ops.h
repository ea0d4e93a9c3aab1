// The operations on each element of one tensor that have no options: one list for all tests that
// go through them.
#pragma once

#include <vector>

#include "ops/activation.h"
#include "ops/elementwise.h"

namespace fovea::test {

/// What backward needs.
enum class Keeps { kNothing, kInput, kResult };

struct ElementOp {
  const char* name;
  Tensor (*function)(Tensor);
  double low, high;  // between which it is smooth
  Keeps keeps = Keeps::kNothing;
};

inline const std::vector<ElementOp>& element_ops() {
  static const std::vector<ElementOp> all = {
      {"neg", ops::neg, -2, 2},
      {"exp", ops::exp, -2, 2, Keeps::kResult},
      {"log", ops::log, 0.2, 3, Keeps::kInput},
      {"log1p", ops::log1p, -0.5, 3, Keeps::kInput},
      {"expm1", ops::expm1, -2, 2, Keeps::kResult},
      {"sqrt", ops::sqrt, 0.2, 3, Keeps::kResult},
      {"rsqrt", ops::rsqrt, 0.2, 3, Keeps::kResult},
      {"reciprocal", ops::reciprocal, 0.3, 3, Keeps::kResult},
      {"square", ops::square, -2, 2, Keeps::kInput},
      {"abs", ops::abs, 0.1, 2, Keeps::kInput},
      {"sin", ops::sin, -3, 3, Keeps::kInput},
      {"cos", ops::cos, -3, 3, Keeps::kInput},
      {"tanh", ops::tanh, -2, 2, Keeps::kResult},
      {"sigmoid", ops::sigmoid, -4, 4, Keeps::kResult},
      {"erf", ops::erf, -2, 2, Keeps::kInput},
      {"relu", ops::relu, 0.1, 2, Keeps::kResult},
      {"gelu", ops::gelu, -3, 3, Keeps::kInput},
      {"gelu_tanh", ops::gelu_tanh, -3, 3, Keeps::kInput},
      {"quick_gelu", ops::quick_gelu, -3, 3, Keeps::kInput},
      {"silu", ops::silu, -4, 4, Keeps::kInput},
      {"softplus", ops::softplus, -4, 4, Keeps::kInput}};
  return all;
}

}  // namespace fovea::test
