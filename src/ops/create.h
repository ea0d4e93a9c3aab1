// Tensors from nothing. They are outside any graph.
#pragma once

#include "tensor/random.h"
#include "tensor/tensor.h"

namespace fovea::ops {

Tensor full(const Shape& shape, double value, DType dtype, const Device& device);
Tensor zeros(const Shape& shape, DType dtype, const Device& device);
Tensor ones(const Shape& shape, DType dtype, const Device& device);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor clone(const Tensor& x);
/// Uniform in [low, high).
Tensor random_uniform(const Shape& shape, double low, double high, const RandomStream& random,
                      DType dtype, const Device& device);
Tensor random_normal(const Shape& shape, double mean, double stddev, const RandomStream& random,
                     DType dtype, const Device& device);
/// Normal, redrawn until inside [low, high].
Tensor truncated_normal(const Shape& shape, double mean, double stddev, double low, double high,
                        const RandomStream& random, DType dtype, const Device& device);

}  // namespace fovea::ops
