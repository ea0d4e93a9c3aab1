// How papers count multiply-adds where they leave out, or add, what the engine does not.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/profiler.h"

namespace fovea::models {

/// The count of a profiler with hooks on modules, over the events of one forward pass. kcla 3.6.
///   convolution, linear layer: multiply-adds without the bias
///   batch norm: 4 per element
///   average pooling: 1 per output, and 1 per input as well where the output size is given
///   bilinear upsampling: 11 per output
///   transposed convolution: input channels x kernel for every output, stride^2 times what it does
/// Everything else, attention's products included, counts nothing.
std::int64_t module_hook_macs(const std::vector<autograd::Event>& events);

}  // namespace fovea::models
