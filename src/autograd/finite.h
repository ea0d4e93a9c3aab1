// The check of anomaly detection.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace fovea::autograd {

/// Throws NumericError naming module, operation and `what` if a value is not finite.
void check_finite(const Tensor& value, const char* op, const std::string& module, const char* what);

}  // namespace fovea::autograd
