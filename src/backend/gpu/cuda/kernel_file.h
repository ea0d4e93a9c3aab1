// One file of gpu/kernels, compiled for each of its dtypes in a namespace of the file and the
// dtype, and a table of each of its kernels. Included once for each file by what
// cmake/gpu_kernels.cmake makes of kernels.def, inside the namespace of the words that kernels are
// written in; no include guard.
//
// What is made defines FILE_SPACE, FILE_TEXT (the file's path), FILE_KERNELS(use) and
// FILE_DTYPES_<dtypes>. Its includer defines Launched and LAUNCHED(kernel): how a kernel is
// launched.

namespace FILE_SPACE {

namespace float32 {
#define DTYPE_float32
#include FILE_TEXT
#undef DTYPE_float32
}  // namespace float32
namespace float64 {
#define DTYPE_float64
#include FILE_TEXT
#undef DTYPE_float64
}  // namespace float64
namespace bfloat16 {
#define DTYPE_bfloat16
#include FILE_TEXT
#undef DTYPE_bfloat16
}  // namespace bfloat16

#ifdef FILE_DTYPES_floating_tf32
namespace tf32 {
#define DTYPE_float32
#define ALLOW_TF32
#include FILE_TEXT
#undef ALLOW_TF32
#undef DTYPE_float32
}  // namespace tf32
#else
namespace tf32 = float32;
#endif

#ifdef FILE_DTYPES_any
namespace int64 {
#define DTYPE_int64
#include FILE_TEXT
#undef DTYPE_int64
}  // namespace int64
namespace int32 {
#define DTYPE_int32
#include FILE_TEXT
#undef DTYPE_int32
}  // namespace int32
namespace uint8 {
#define DTYPE_uint8
#include FILE_TEXT
#undef DTYPE_uint8
}  // namespace uint8
#define LAUNCHED_OF_INTEGERS(dtype, kernel) LAUNCHED(FILE_SPACE::dtype::kernel)
#else
#define LAUNCHED_OF_INTEGERS(dtype, kernel) nullptr
#endif

}  // namespace FILE_SPACE

#define FILE_TABLE(kernel)                                \
  extern const KernelByDType<Launched> kernel##_by_dtype; \
  const KernelByDType<Launched> kernel##_by_dtype = {     \
      .float32 = LAUNCHED(FILE_SPACE::float32::kernel),   \
      .tf32 = LAUNCHED(FILE_SPACE::tf32::kernel),         \
      .float64 = LAUNCHED(FILE_SPACE::float64::kernel),   \
      .bfloat16 = LAUNCHED(FILE_SPACE::bfloat16::kernel), \
      .int64 = LAUNCHED_OF_INTEGERS(int64, kernel),       \
      .int32 = LAUNCHED_OF_INTEGERS(int32, kernel),       \
      .uint8 = LAUNCHED_OF_INTEGERS(uint8, kernel)};
FILE_KERNELS(FILE_TABLE)
#undef FILE_TABLE
#undef LAUNCHED_OF_INTEGERS
