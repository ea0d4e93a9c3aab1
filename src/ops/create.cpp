#include "ops/create.h"

#include <limits>

#include "backend/backend.h"

namespace fovea::ops {

Tensor full(const Shape& shape, double value, DType dtype, const Device& device) {
  Tensor y = Tensor::empty(shape, dtype, device);
  backend(y).fill(y, value);
  return y;
}

Tensor zeros(const Shape& shape, DType dtype, const Device& device) {
  return full(shape, 0, dtype, device);
}

Tensor ones(const Shape& shape, DType dtype, const Device& device) {
  return full(shape, 1, dtype, device);
}

Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype(), x.device()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype(), x.device()); }

Tensor clone(const Tensor& x) {
  Tensor y = Tensor::empty_like(x);
  backend(x).cast(x, y);
  return y;
}

Tensor random_uniform(const Shape& shape, double low, double high, const RandomStream& random,
                      DType dtype, const Device& device) {
  Tensor y = Tensor::empty(shape, dtype, device);
  backend(y).random_uniform(random.key(), low, high, y);
  return y;
}

Tensor random_normal(const Shape& shape, double mean, double stddev, const RandomStream& random,
                     DType dtype, const Device& device) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  return truncated_normal(shape, mean, stddev, -kAny, kAny, random, dtype, device);
}

Tensor truncated_normal(const Shape& shape, double mean, double stddev, double low, double high,
                        const RandomStream& random, DType dtype, const Device& device) {
  Tensor y = Tensor::empty(shape, dtype, device);
  backend(y).random_normal(random.key(), {.mean = mean, .stddev = stddev, .low = low, .high = high},
                           y);
  return y;
}

}  // namespace fovea::ops
