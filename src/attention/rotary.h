// Rotary positions on interleaved pairs. dgsa 2.3.
#pragma once

#include "tensor/tensor.h"

namespace fovea::attention {

/// x: (b, n, heads * head_dim); cos, sin: (n, head_dim / 2). Pair i of a head:
/// (a, b) = (x[2i], x[2i+1]) -> (a cos - b sin, a sin + b cos).
Tensor rotate_pairs(const Tensor& x, std::int64_t head_dim, const Tensor& cos, const Tensor& sin);

}  // namespace fovea::attention
