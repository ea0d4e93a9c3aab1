// In place of opencl.cpp where OpenCL was not there when Fovea was built.
#include "backend/gpu/opencl/opencl.h"
#include "base/error.h"

namespace fovea::gpu {

std::vector<std::string> opencl_devices() { return {}; }

Device make_opencl(int) {
  throw BackendError("opencl: Fovea was built without it; run with device=cpu");
}

}  // namespace fovea::gpu
