// Every kernel of the table is compiled for CUDA, for every dtype of its file. (Where the backend
// is built; a card is not needed.)
#if defined(FOVEA_WITH_CUDA)

#include <catch2/catch.hpp>

#include <set>
#include <string>

#include "backend/gpu/cuda/kernels.h"

namespace {

using fovea::DType;
using fovea::gpu::Kernel;

struct Entry {
  Kernel kernel;
  std::string file;
};
const Entry kEntries[] = {
#define FOVEA_GPU_KERNEL(file, kernel) {Kernel::kernel, #file},
#include "backend/gpu/kernels.def"
};

// Of a file.
std::string dtypes_of(const std::string& name) {
#define FOVEA_GPU_FILE(file, dtypes) \
  if (name == #file) return #dtypes;
#include "backend/gpu/kernels.def"
  return "";
}

}  // namespace

TEST_CASE("cuda: every kernel is there for the dtypes of its file, each one another",
          "[backend][cuda]") {
  std::set<const void*> found;
  for (const auto& [kernel, file] : kEntries) {
    INFO(fovea::gpu::name_of(kernel));
    const std::string dtypes = dtypes_of(file);
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
      const void* of = fovea::gpu::cuda_kernel(kernel, dtype, false);
      REQUIRE(of != nullptr);
      REQUIRE(found.insert(of).second);
      if (dtype != DType::kFloat32) REQUIRE(fovea::gpu::cuda_kernel(kernel, dtype, true) == of);
    }
    const void* tf32 = fovea::gpu::cuda_kernel(kernel, DType::kFloat32, true);
    REQUIRE(tf32 != nullptr);
    REQUIRE(found.insert(tf32).second == (dtypes == "floating_tf32"));
    for (const DType dtype : {DType::kInt64, DType::kInt32, DType::kUint8}) {
      const void* of = fovea::gpu::cuda_kernel(kernel, dtype, false);
      REQUIRE((of != nullptr) == (dtypes == "any"));
      if (of != nullptr) REQUIRE(found.insert(of).second);
    }
  }
}

#endif
