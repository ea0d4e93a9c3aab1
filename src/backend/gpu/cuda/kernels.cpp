#include "backend/gpu/cuda/kernels.h"

#include "backend/gpu/cuda/kernel_by_dtype.h"

namespace fovea::gpu {

// Each is in the object of its file (kernel_file.h).
#define FOVEA_GPU_KERNEL(file, kernel) extern const KernelByDType<const void*> kernel##_by_dtype;
#include "backend/gpu/kernels.def"

const void* cuda_kernel(Kernel kernel, DType dtype, bool allow_tf32) {
  static constexpr const KernelByDType<const void*>* kKernels[] = {
#define FOVEA_GPU_KERNEL(file, kernel) &kernel##_by_dtype,
#include "backend/gpu/kernels.def"
  };
  return kKernels[static_cast<int>(kernel)]->of(dtype, allow_tf32);
}

}  // namespace fovea::gpu
