// Values as the host reads them.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace fovea {

/// The elements of any dtype on any device, widened by the host.
std::vector<double> host_doubles(const Tensor& x);

/// These values, rounded to a floating `dtype` by the host.
Tensor from_doubles(const std::vector<double>& values, const Shape& shape, DType dtype,
                    const Device& device);

}  // namespace fovea
