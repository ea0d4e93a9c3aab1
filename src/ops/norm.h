// Normalisations. weight and bias may be undefined (no affine part).
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
/// Batch statistics in training mode; then running = (1 - momentum) running + momentum batch, with
/// the unbiased variance, as in PyTorch. In evaluation mode the running statistics are used.
/// x: (b, c, spatial...), all others (c). residual, like x or undefined, is added to the result,
/// and then comes a ReLU (gradient 0 at 0) if asked for: y = relu(norm(x) + residual) in one pass,
/// of which only x and, with a residual, y are kept for backward.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps, const Tensor& residual = {}, bool relu = false);

}  // namespace fovea::ops
