// Operations that move elements without changing them.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

/// Shares memory. One size may be -1: it follows from the others. Axes of size 0 stay as they are,
/// so that (0, 3, 4) becomes (0, 12) with {0, -1}.
Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> sizes);
Tensor reshape(const Tensor& x, const Shape& shape);
/// Axis i of the result is axis order[i] of x.
Tensor permute(const Tensor& x, const std::vector<int>& order);
/// Swaps two axes.
Tensor transpose(const Tensor& x, int axis_a, int axis_b);
/// Repeats size-1 axes; x is right-aligned with shape.
Tensor expand(const Tensor& x, const Shape& shape);
Tensor concat(const std::vector<Tensor>& parts, int axis);
/// Elements [begin, begin + length) of an axis.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t length);
std::vector<Tensor> split(const Tensor& x, int axis, const std::vector<std::int64_t>& lengths);
/// Zero (or `value`) padding, (before, after) for every axis; negative amounts crop.
Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& amounts,
           double value = 0);
/// Cyclic shift: element i goes to (i + shift) mod size.
Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes);
/// Reverses an axis.
Tensor flip(const Tensor& x, int axis);

}  // namespace fovea::ops
