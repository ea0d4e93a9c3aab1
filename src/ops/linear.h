// Matrix products.
#pragma once

#include "ops/activation.h"
#include "tensor/tensor.h"

namespace fovea::ops {

/// op(a) op(b) over the last two axes, where op transposes if asked. Leading axes must be equal, or
/// one operand has none (it is shared). (..., m, k) x (..., k, n) -> (..., m, n).
Tensor matmul(const Tensor& a, const Tensor& b, bool trans_a = false, bool trans_b = false);

/// x W^T + b. x: (..., in), weight: (out, in), bias: (out) or undefined -> (..., out).
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// linear(f(x), weight, bias) that keeps x alone for backward and computes f(x) there again: the
/// hidden layer of an FFN is the largest thing that training would keep.
Tensor linear(const Activation& f, const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace fovea::ops
