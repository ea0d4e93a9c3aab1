// Writing to tensors that exist. backward() throws Error where an operation kept a value that was
// overwritten since (Tensor::written).
#pragma once

#include "tensor/tensor.h"

namespace fovea::ops {

/// True where x may become the result of the operation that is handed it: no other tensor has its
/// memory, and it takes no part in differentiation. Ask before the operation makes handles of its
/// own.
bool is_spent(const Tensor& x);

/// Every element of y becomes `value`, in y's dtype.
void fill(const Tensor& y, double value);

/// The values of `from` in the dtype of `to`; equal shapes. Throws ShapeError. They may be on
/// different devices.
void copy_into(const Tensor& from, const Tensor& to);

}  // namespace fovea::ops
