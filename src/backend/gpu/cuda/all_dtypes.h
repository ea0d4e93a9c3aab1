// Every kernel of gpu/kernels, one namespace a dtype; to be included inside a namespace, no include guard.
#include "backend/gpu/kernels/operations.h"

namespace float32 {
#define DTYPE_float32
#include "backend/gpu/cuda/all_kernels.h"
#undef DTYPE_float32
}  // namespace float32
namespace tf32 {
#define DTYPE_float32
#define ALLOW_TF32
#include "backend/gpu/cuda/all_kernels.h"
#undef ALLOW_TF32
#undef DTYPE_float32
}  // namespace tf32
namespace float64 {
#define DTYPE_float64
#include "backend/gpu/cuda/all_kernels.h"
#undef DTYPE_float64
}  // namespace float64
namespace bfloat16 {
#define DTYPE_bfloat16
#include "backend/gpu/cuda/all_kernels.h"
#undef DTYPE_bfloat16
}  // namespace bfloat16

#define DTYPE_is_integer
namespace int64 {
#define DTYPE_int64
#include "backend/gpu/cuda/all_kernels.h"
#undef DTYPE_int64
}  // namespace int64
namespace int32 {
#define DTYPE_int32
#include "backend/gpu/cuda/all_kernels.h"
#undef DTYPE_int32
}  // namespace int32
namespace uint8 {
#define DTYPE_uint8
#include "backend/gpu/cuda/all_kernels.h"
#undef DTYPE_uint8
}  // namespace uint8
