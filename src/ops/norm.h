// Normalisations. weight and bias may be undefined (no affine part). An empty batch gives an empty
// result, leaves running statistics as they are, and the gradients of weight and bias are zeros.
#pragma once

#include "tensor/tensor.h"

namespace fovea::ops {

/// Over the last axis: (x - mean) / sqrt(var + eps) * weight + bias. weight, bias: (dim).
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);
/// Over the last axis: x / sqrt(mean(x^2) + eps) * weight.
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps);
/// x: (b, c, spatial...), weight and bias: (c). c must be divisible by groups.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps);
/// Parameters (c) and running statistics (c) of a batch norm, and how it is applied. In training
/// mode statistics are those of the batch, and running = (1 - momentum) running + momentum batch,
/// with the unbiased variance, as in PyTorch; in evaluation mode they are the running ones.
/// batches (), int64 or undefined, counts those of training.
struct BatchNorm {
  Tensor weight, bias, running_mean, running_var;
  bool training = true;
  double momentum = 0.1;
  double eps = 1e-5;
  Tensor batches = {};
};

/// x: (b, c, spatial...). residual, like x or undefined, is added to the result, and then comes a
/// ReLU (gradient 0 at 0) if asked for: y = relu(norm(x) + residual) in one pass. Only x and, with
/// a residual, y are kept for backward.
Tensor batch_norm(const BatchNorm& norm, const Tensor& x, const Tensor& residual = {},
                  bool relu = false);

}  // namespace fovea::ops
