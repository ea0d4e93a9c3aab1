// Products of matrices by CLBlast.
#pragma once

#include "backend/args.h"
#include "tensor/tensor.h"

using cl_command_queue = struct _cl_command_queue*;

namespace fovea::gpu {

/// As Backend::gemm, in the order of the queue. False where CLBlast is not built in, has no kernel
/// for the dtype, or would not be faster than ours. Throws BackendError.
bool opencl_matmul(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
                   const Tensor& c, cl_command_queue queue);

}  // namespace fovea::gpu
