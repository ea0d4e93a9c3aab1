// The kernels of gpu/kernels for CUDA.
#include "backend/gpu/cuda/kernels.h"
#include "backend/gpu/cuda/tensor_core.h"

namespace fovea::gpu {

#include "backend/gpu/cuda/all_dtypes.h"

namespace {

#define ADDRESS(kernel) reinterpret_cast<const void*>(&kernel)
// Of the file a kernel is in: whether there is one for integers.
#define OF_memory(kernel) ADDRESS(kernel)
#define OF_elementwise(kernel) nullptr
#define OF_reduce(kernel) nullptr
#define OF_gemm(kernel) nullptr
#define OF_conv(kernel) nullptr
#define OF_conv_product(kernel) nullptr
#define OF_pool(kernel) nullptr
#define OF_resize(kernel) nullptr
#define OF_random(kernel) nullptr
#define OF_norm(kernel) nullptr
#define OF_softmax(kernel) nullptr
#define OF_channel_norm(kernel) nullptr
#define OF_value_norm(kernel) nullptr
#define OF_token_conv(kernel) nullptr
#define OF_update(kernel) nullptr
#define OF_list(kernel) nullptr
#define OF_region(kernel) nullptr
#define OF_attention(kernel) nullptr
#define OF_attention_backward(kernel) nullptr
#define OF_linear_attention(kernel) nullptr
#define OF_linear_attention_backward(kernel) nullptr

// The same of TF32: what warps multiply.
#define TF32_OF_memory(kernel) ADDRESS(float32::kernel)
#define TF32_OF_elementwise(kernel) ADDRESS(float32::kernel)
#define TF32_OF_reduce(kernel) ADDRESS(float32::kernel)
#define TF32_OF_gemm(kernel) ADDRESS(tf32::kernel)
#define TF32_OF_conv(kernel) ADDRESS(float32::kernel)
#define TF32_OF_conv_product(kernel) ADDRESS(tf32::kernel)
#define TF32_OF_pool(kernel) ADDRESS(float32::kernel)
#define TF32_OF_resize(kernel) ADDRESS(float32::kernel)
#define TF32_OF_random(kernel) ADDRESS(float32::kernel)
#define TF32_OF_norm(kernel) ADDRESS(float32::kernel)
#define TF32_OF_softmax(kernel) ADDRESS(float32::kernel)
#define TF32_OF_channel_norm(kernel) ADDRESS(float32::kernel)
#define TF32_OF_value_norm(kernel) ADDRESS(float32::kernel)
#define TF32_OF_token_conv(kernel) ADDRESS(float32::kernel)
#define TF32_OF_update(kernel) ADDRESS(float32::kernel)
#define TF32_OF_list(kernel) ADDRESS(float32::kernel)
#define TF32_OF_region(kernel) ADDRESS(float32::kernel)
#define TF32_OF_attention(kernel) ADDRESS(tf32::kernel)
#define TF32_OF_attention_backward(kernel) ADDRESS(tf32::kernel)
#define TF32_OF_linear_attention(kernel) ADDRESS(float32::kernel)
#define TF32_OF_linear_attention_backward(kernel) ADDRESS(float32::kernel)

const void* const kFloat32[] = {
#define FOVEA_GPU_KERNEL(file, kernel) ADDRESS(float32::kernel),
#include "backend/gpu/kernels.def"
};
const void* const kTf32[] = {
#define FOVEA_GPU_KERNEL(file, kernel) TF32_OF_##file(kernel),
#include "backend/gpu/kernels.def"
};
const void* const kFloat64[] = {
#define FOVEA_GPU_KERNEL(file, kernel) ADDRESS(float64::kernel),
#include "backend/gpu/kernels.def"
};
const void* const kBFloat16[] = {
#define FOVEA_GPU_KERNEL(file, kernel) ADDRESS(bfloat16::kernel),
#include "backend/gpu/kernels.def"
};
const void* const kInt64[] = {
#define FOVEA_GPU_KERNEL(file, kernel) OF_##file(int64::kernel),
#include "backend/gpu/kernels.def"
};
const void* const kInt32[] = {
#define FOVEA_GPU_KERNEL(file, kernel) OF_##file(int32::kernel),
#include "backend/gpu/kernels.def"
};
const void* const kUint8[] = {
#define FOVEA_GPU_KERNEL(file, kernel) OF_##file(uint8::kernel),
#include "backend/gpu/kernels.def"
};

}  // namespace

const void* cuda_kernel(Kernel kernel, DType dtype, bool allow_tf32) {
  const auto number = static_cast<int>(kernel);
  switch (dtype) {
    case DType::kFloat32:
      return allow_tf32 ? kTf32[number] : kFloat32[number];
    case DType::kFloat64:
      return kFloat64[number];
    case DType::kBFloat16:
      return kBFloat16[number];
    case DType::kInt64:
      return kInt64[number];
    case DType::kInt32:
      return kInt32[number];
    case DType::kUint8:
      return kUint8[number];
  }
  return nullptr;
}

}  // namespace fovea::gpu
