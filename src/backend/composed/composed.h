// Functions that default bodies of fused kernels are made of: primitives that return new tensors.
// bfloat16 is widened first, so a body computes in one type.
#pragma once

#include <vector>

#include "backend/backend.h"

namespace fovea::composed {

Tensor filled(const Shape& shape, double value, DType dtype, const Device& device);
/// x itself if it is of that type, or undefined.
Tensor as(const Tensor& x, DType dtype);
/// In the compute type.
Tensor wide(const Tensor& x);
/// Writes x to memory of as many elements, converted to its type.
void write(const Tensor& x, const Tensor& to);

Tensor unary(UnaryOp op, const Tensor& x, UnaryParams params = {});
Tensor affine(const Tensor& x, double a, double b = 0);
/// Broadcast.
Tensor binary(BinaryOp op, const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
/// x op a scalar, as uint8.
Tensor compare(BinaryOp op, const Tensor& x, double value);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// With a scalar for the other side.
Tensor where(const Tensor& condition, const Tensor& a, double otherwise);

/// Over the axes that are 1 in `kept`.
Tensor reduce(ReduceOp op, const Tensor& x, const Shape& kept);
/// Over the last axis, which stays as 1.
Tensor over_rows(ReduceOp op, const Tensor& x);
/// Axis i of the result is axis order[i] of x.
Tensor permuted(const Tensor& x, const std::vector<int>& order);
/// (n) repeated along a new last axis: (n, times).
Tensor repeated(const Tensor& x, std::int64_t times);
/// Columns [first, first + count) of a matrix, and back.
Tensor columns(const Tensor& x, std::int64_t first, std::int64_t count);
void put_columns(const Tensor& from, std::int64_t first, const Tensor& to);

/// The softmax of x (float32 or float64) as softmax() of kernels.def, and of each row (..., 1) the
/// logarithm of the sum of its exponentials.
struct SoftRows {
  Tensor p, lse;
};
SoftRows soft_rows(bool causal, const Tensor& x, const Tensor& mask);

/// The gradient of x through rstd (x - mean) or, without a mean, rstd x; over the axes that are 1
/// in rstd. e: gradient of the normalised values.
Tensor norm_gradient(const Tensor& normed, const Tensor& e, const Tensor& rstd, bool centred);

/// The product dweight (out, in) = dy^T x of linear_backward_weight().
GemmArgs weight_gradient(const Tensor& x, const Tensor& dy);

}  // namespace fovea::composed
