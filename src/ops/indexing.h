// Lookups by integer tensors.
#pragma once

#include "tensor/tensor.h"

namespace fovea::ops {

/// Rows of a table: weight (rows, dim), index int64 (...) -> (..., dim). Rows equal to
/// padding_index receive no gradient (-1: none). Throws ShapeError for an index outside the table.
Tensor embedding(const Tensor& weight, const Tensor& index, std::int64_t padding_index = -1);
/// y[..., i, ...] = x[..., index[..., i, ...], ...] along an axis; other axes of x and index agree.
Tensor gather(const Tensor& x, int axis, const Tensor& index);
/// x plus, at the places gather would read, the elements of `values`; repeated places add up.
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& values);

}  // namespace fovea::ops
