// Runs an operation on bfloat16 activations with float32 parameters and on float32 alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

namespace fovea::test {

/// A function of activations, which come first, and float32 parameters.
struct MixedCase {
  const char* name;
  std::vector<Shape> activations, parameters;
  Function function;
};

struct MixedOutcome {
  Tensor y;
  std::vector<Tensor> gradients;
};

/// Results and gradients in float32, with activations stored as said.
inline MixedOutcome run_mixed(const MixedCase& c, DType stored) {
  std::vector<Tensor> leaves;
  std::vector<Tensor> given;
  std::uint64_t seed = 1;
  for (const Shape& shape : c.activations) {
    // Both runs start from values that bfloat16 holds exactly.
    const Tensor exact = ops::cast(random_tensor(shape, seed++, DType::kFloat32), DType::kBFloat16);
    leaves.push_back(trainable(ops::cast(exact, DType::kFloat32)));
    given.push_back(ops::cast(leaves.back(), stored));
  }
  for (const Shape& shape : c.parameters) {
    const Tensor exact = ops::cast(random_tensor(shape, seed++, DType::kFloat32), DType::kBFloat16);
    leaves.push_back(trainable(ops::cast(exact, DType::kFloat32)));
    given.push_back(leaves.back());
  }
  const Tensor y = c.function(given);
  CHECK(y.dtype() == stored);
  const Tensor upstream = random_tensor(y.shape(), 99, DType::kFloat32);
  autograd::backward(ops::sum(ops::mul(ops::cast(y, DType::kFloat32), upstream)));
  MixedOutcome outcome{ops::cast(y.detach(), DType::kFloat32), {}};
  for (const Tensor& leaf : leaves) {
    REQUIRE(leaf.grad().dtype() == DType::kFloat32);
    outcome.gradients.push_back(leaf.grad());
  }
  return outcome;
}

inline double largest(const Tensor& x) {
  double most = 0;
  for (const double value : to_doubles(x)) most = std::max(most, std::abs(value));
  return most;
}

/// A few roundings to 8 bits, relative to the largest element.
inline void check_close(const Tensor& half, const Tensor& full) {
  CHECK(max_difference(half, full) <= 0.02 * largest(full));
}

/// Of the angle between two lists of numbers, such as the gradients of a whole network: single ones
/// that are small differences are lost to rounding.
inline double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  const auto dot = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

/// Results and gradients in bfloat16 are those of float32, rounded.
inline void check_mixed_precision(const MixedCase& c) {
  INFO(c.name);
  const MixedOutcome full = run_mixed(c, DType::kFloat32);
  const MixedOutcome half = run_mixed(c, DType::kBFloat16);
  check_close(half.y, full.y);
  for (std::size_t i = 0; i < full.gradients.size(); ++i) {
    INFO("gradient " << i);
    check_close(half.gradients[i], full.gradients[i]);
  }
}

}  // namespace fovea::test
