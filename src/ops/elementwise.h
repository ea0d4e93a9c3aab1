// Elementwise operations. Binary ones broadcast as NumPy does. All are differentiable unless they
// return uint8.
#pragma once

#include "tensor/random.h"
#include "tensor/tensor.h"

namespace fovea::ops {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
/// c + a b, where a b has the shape of c and either of them may be stretched to it. Counts a
/// multiply-add an element, unless told not to: papers leave factors of branches out.
Tensor add_product(const Tensor& c, const Tensor& a, const Tensor& b, bool counted = true);
/// The gradient goes to the larger (smaller) operand, in halves where they are equal.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);

/// a x + b with scalars.
Tensor affine(const Tensor& x, double a, double b);
inline Tensor add(const Tensor& x, double b) { return affine(x, 1, b); }
inline Tensor mul(const Tensor& x, double a) { return affine(x, a, 0); }
inline Tensor neg(const Tensor& x) { return affine(x, -1, 0); }

Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor square(const Tensor& x);
/// With the limits of std::pow: x^0 is 1 everywhere and its gradient 0.
Tensor pow(const Tensor& x, double exponent);
/// Gradient 0 at 0.
Tensor abs(const Tensor& x);
/// Gradient 1 inside and on the bounds, 0 outside, as in PyTorch.
Tensor clamp(const Tensor& x, double low, double high);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor erf(const Tensor& x);
/// Gradient 0 at 0.
Tensor relu(const Tensor& x);
/// max(x, slope x). Gradient slope at 0, as in PyTorch.
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
/// x Phi(x) with the error function.
Tensor gelu(const Tensor& x);
/// The tanh approximation of gelu.
Tensor gelu_tanh(const Tensor& x);
/// x sigmoid(1.702 x), which OpenAI's CLIP has in place of gelu.
Tensor quick_gelu(const Tensor& x);
Tensor silu(const Tensor& x);
Tensor elu(const Tensor& x, double alpha = 1.0);
/// log(1 + exp(x)), linear for large x.
Tensor softplus(const Tensor& x);

/// silu(a) * b for x = [a, b] halved on the last axis; with gate_last a * silu(b).
/// x: (..., 2 h) -> (..., h). dgsa 2.5.
Tensor swiglu(const Tensor& x, bool gate_last = false);
/// The same of two tensors of one shape.
Tensor swiglu(const Tensor& a, const Tensor& b);

// Comparisons: uint8, 1 where true; broadcast.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor is_finite(const Tensor& x);
/// condition (uint8) ? a : b; all broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

/// Inverted dropout: kept values are divided by 1 - p. p in [0, 1).
Tensor dropout(const Tensor& x, double p, const RandomStream& random);
/// Stochastic depth: drops whole items of the first axis.
Tensor drop_path(const Tensor& x, double p, const RandomStream& random);

/// Converts to another dtype; differentiable between floating ones.
Tensor cast(const Tensor& x, DType dtype);
/// A float32 tensor (a parameter) as bfloat16 where the activations it meets are that; else itself.
/// The arithmetic above does so with both of its operands.
Tensor as_activation(const Tensor& x, const Tensor& activations);
/// A copy on another device; differentiable. Returns x itself if it is on that device (Device::is).
Tensor to(const Tensor& x, const Device& device);

}  // namespace fovea::ops
