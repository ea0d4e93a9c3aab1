// The kernels as CUDA's runtime launches them.
#pragma once

#include "backend/gpu/runtime.h"

namespace fovea::gpu {

/// nullptr where a kernel is not made for a dtype.
const void* cuda_kernel(Kernel kernel, DType dtype);

}  // namespace fovea::gpu
