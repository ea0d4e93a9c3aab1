// Writing to tensors that exist. backward() throws Error where an operation kept a value that was
// overwritten since (Tensor::written).
#pragma once

#include "tensor/tensor.h"

namespace fovea::ops {

/// Every element of y becomes `value`, in y's dtype.
void fill(const Tensor& y, double value);

/// The values of `from` in the dtype of `to`; equal shapes. Throws ShapeError. They may be on
/// different devices.
void copy_into(const Tensor& from, const Tensor& to);

}  // namespace fovea::ops
