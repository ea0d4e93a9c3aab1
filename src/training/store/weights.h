// Values of tensors in the host's memory.
#pragma once

#include <map>
#include <string>

#include "nn/weights.h"

namespace fovea::training {

/// The same tensors in the host's memory, shared where they are there already.
std::map<std::string, Tensor> to_host(const std::map<std::string, Tensor>& tensors,
                                      const Device& host);

/// The value of a scalar on any device.
double scalar_of(const Tensor& x);

}  // namespace fovea::training
