// Inputs with a closed form, for comparing with values computed by PyTorch, and a check that
// results do not depend on the number of threads.
#pragma once

#include <cmath>

#include "tests/support/tensors.h"

namespace fovea::test {

/// Element i is ((i step) mod period - period / 2) / 4.
inline Tensor ramp(const Shape& shape, std::int64_t step, std::int64_t period) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(static_cast<double>(i * step % period - period / 2) / 4);
  }
  return Tensor::from(values, shape, cpu());
}

/// Back-propagates ramp(shape of y, 5, 13).
inline void backward_ramp(const Tensor& y) { autograd::backward(y, ramp(y.shape(), 5, 13)); }

inline void check_values(const Tensor& found, const std::vector<double>& expected) {
  const std::vector<double> values = to_doubles(found);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i, values[i], expected[i]);
    CHECK(std::abs(values[i] - expected[i]) <= 1e-10 + 1e-8 * std::abs(expected[i]));
  }
}

/// Runs function on float32 inputs and back-propagates; output and gradients must be the same bits
/// for 1, 2, 3 and 5 threads.
inline void check_threads(const Function& function, const std::vector<Shape>& shapes) {
  const auto bits = [&](int threads) {
    const Device device = make_cpu(threads);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      inputs.push_back(
          trainable(random_tensor(shapes[i], 31 + i, DType::kFloat32).copy_on(device)));
    }
    const Tensor y = function(inputs);
    std::vector<float> dy(static_cast<std::size_t>(y.numel()));
    for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = RandomStream(5).uniform(i) - 0.5f;
    autograd::backward(y, Tensor::from(dy, y.shape(), device));
    std::vector<double> all = to_doubles(y);
    for (const Tensor& input : inputs) {
      const std::vector<double> gradient = to_doubles(input.grad());
      all.insert(all.end(), gradient.begin(), gradient.end());
    }
    return all;
  };
  const std::vector<double> one = bits(1);
  for (const int threads : {2, 3, 5}) {
    CAPTURE(threads);
    CHECK(bits(threads) == one);
  }
}

}  // namespace fovea::test
