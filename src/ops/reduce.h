// Reductions over axes, softmax.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

/// Over the given axes (negative ones count from the back; empty = all). keepdim leaves them as 1.
Tensor sum(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);
/// The mean of no elements is 0: an empty batch adds nothing to a loss, and does not end a run with
/// PyTorch's NaN.
Tensor mean(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);
/// The gradient is shared evenly among equal maxima, as in PyTorch's amax. A NaN wins over
/// everything. Throws ShapeError if an axis has no elements.
Tensor max(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);
Tensor min(const Tensor& x, const std::vector<int>& axes = {}, bool keepdim = false);
/// Index (int64) of the first maximum along the last axis, or of the first NaN; no gradient.
Tensor argmax(const Tensor& x);
Tensor argmin(const Tensor& x);

/// Sums the gradient of a broadcast operand back to its shape. No gradient of its own.
Tensor reduce_to(const Tensor& x, const Shape& shape);
/// The same as another dtype: bfloat16 gradients of a float32 parameter are summed in float32.
Tensor reduce_to(const Tensor& x, const Shape& shape, DType dtype);

/// Over the last axis. mask: (items, keys) uint8 with 1 = allowed, or undefined; the rows of x are
/// divided evenly among the items. causal: key j of query t (the second to last axis) is allowed if
/// j <= t + (keys - queries). A row without an allowed key is zero; a NaN among allowed keys makes
/// its row NaN. dgsa 2.1.
Tensor softmax(const Tensor& x, const Tensor& mask = {}, bool causal = false);
Tensor log_softmax(const Tensor& x);

}  // namespace fovea::ops
