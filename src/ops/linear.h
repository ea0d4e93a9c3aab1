// Matrix products.
#pragma once

#include "tensor/tensor.h"

namespace fovea::ops {

/// op(a) op(b) over the last two axes, where op transposes if asked. Leading axes must be equal, or
/// one operand has none (it is shared). (..., m, k) x (..., k, n) -> (..., m, n).
Tensor matmul(const Tensor& a, const Tensor& b, bool trans_a = false, bool trans_b = false);

/// x W^T + b. x: (..., in), weight: (out, in), bias: (out) or undefined -> (..., out). Backward
/// keeps x, unless the operation that made x (a norm, an activation) can make it again.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace fovea::ops
