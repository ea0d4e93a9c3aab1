// Elementwise operations. Binary ones broadcast as NumPy does. All are differentiable unless they
// return uint8. Those that take tensors by value write over one that is handed over as the last
// handle on it (std::move, or a result), where no gradient is recorded.
#pragma once

#include <utility>

#include "tensor/random.h"
#include "tensor/tensor.h"

namespace fovea::ops {

Tensor add(Tensor a, Tensor b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
/// c + a b, where a b has the shape of c and either of them may be stretched to it. Counts a
/// multiply-add an element, unless told not to: papers leave factors of branches out.
Tensor add_product(const Tensor& c, Tensor a, const Tensor& b, bool counted = true);
/// The gradient goes to the larger (smaller) operand, in halves where they are equal.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);

/// a x + b with scalars.
Tensor affine(Tensor x, double a, double b);
inline Tensor add(Tensor x, double b) { return affine(std::move(x), 1, b); }
inline Tensor mul(Tensor x, double a) { return affine(std::move(x), a, 0); }
inline Tensor neg(Tensor x) { return affine(std::move(x), -1, 0); }

Tensor exp(Tensor x);
Tensor log(Tensor x);
Tensor log1p(Tensor x);
Tensor expm1(Tensor x);
Tensor sqrt(Tensor x);
Tensor rsqrt(Tensor x);
Tensor reciprocal(Tensor x);
Tensor square(Tensor x);
/// With the limits of std::pow: x^0 is 1 everywhere and its gradient 0.
Tensor pow(Tensor x, double exponent);
/// Gradient 0 at 0.
Tensor abs(Tensor x);
/// Gradient 1 inside and on the bounds, 0 outside, as in PyTorch.
Tensor clamp(Tensor x, double low, double high);
Tensor sin(Tensor x);
Tensor cos(Tensor x);
Tensor tanh(Tensor x);
Tensor sigmoid(Tensor x);
Tensor erf(Tensor x);
/// Gradient 0 at 0.
Tensor relu(Tensor x);
/// max(x, slope x). Gradient slope at 0, as in PyTorch.
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
/// x Phi(x) with the error function.
Tensor gelu(Tensor x);
/// The tanh approximation of gelu.
Tensor gelu_tanh(Tensor x);
/// x sigmoid(1.702 x), which OpenAI's CLIP has in place of gelu.
Tensor quick_gelu(Tensor x);
Tensor silu(Tensor x);
Tensor elu(Tensor x, double alpha = 1.0);
/// log(1 + exp(x)), linear for large x.
Tensor softplus(Tensor x);

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
