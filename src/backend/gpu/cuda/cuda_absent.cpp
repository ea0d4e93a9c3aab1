// In place of cuda.cpp where CUDA's compiler was not there when Fovea was built.
#include "backend/gpu/cuda/cuda.h"
#include "base/error.h"

namespace fovea::gpu {

std::vector<std::string> cuda_devices() { return {}; }
std::vector<std::string> cuda_missing() { return {}; }

Device make_cuda(int, bool) {
  throw BackendError("cuda: Fovea was built without it; run with device=cpu");
}

}  // namespace fovea::gpu
