// The kernels as CUDA's runtime launches them.
#pragma once

#include "backend/gpu/runtime.h"

namespace fovea::gpu {

/// nullptr where a kernel is not made for a dtype. allow_tf32: of float32's the one on tensor
/// cores, where there is one.
const void* cuda_kernel(Kernel kernel, DType dtype, bool allow_tf32);

}  // namespace fovea::gpu
