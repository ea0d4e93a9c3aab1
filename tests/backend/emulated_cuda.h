// CUDA's tensor cores where there is no card: a device whose kernels are the text that nvcc
// compiles, compiled for the host. 256 fibers are a group, and instructions of tensor cores do what
// their specification says (PTX ISA, "Warp-level matrix instructions"). Slow; for tests of small
// cases.
#pragma once

#include "tensor/device.h"

namespace fovea::test {

Device emulated_cuda(bool allow_tf32);

}  // namespace fovea::test
