// Networks with values that any program can make again, for results that PyTorch gave.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nn/module.h"
#include "tests/support/tensors.h"

namespace fovea::test {

/// Element i of the j-th parameter by name becomes 0.5 sin(1 + 0.37 i + 1.7 j).
inline void set_pattern(const nn::Module& module) {
  std::map<std::string, Tensor> by_name;
  for (const nn::NamedTensor& named : module.parameters()) by_name[named.name] = named.tensor;
  double j = 0;
  for (const auto& [name, tensor] : by_name) {
    edit<double>(tensor, [&](auto values) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 0.5 * std::sin(1 + 0.37 * static_cast<double>(i) + 1.7 * j);
    });
    ++j;
  }
}

/// Element i is cos(0.023 i sqrt(i) + 0.11 i).
inline Tensor patterned_image(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<double>(i);
    values[i] = std::cos(0.023 * at * std::sqrt(at) + 0.11 * at);
  }
  return Tensor::from(values, shape, cpu());
}

/// The sum of all elements, and that of element i times cos(0.3 i).
struct Digest {
  double sum = 0, weighted = 0;
};

inline void check_digest(const Tensor& x, const Digest& expected) {
  Digest found;
  const std::vector<double> values = to_doubles(x);
  for (std::size_t i = 0; i < values.size(); ++i) {
    found.sum += values[i];
    found.weighted += values[i] * std::cos(0.3 * static_cast<double>(i));
  }
  CHECK(found.sum == Approx(expected.sum).epsilon(1e-9));
  CHECK(found.weighted == Approx(expected.weighted).epsilon(1e-8));
}

}  // namespace fovea::test
