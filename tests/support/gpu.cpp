#include "tests/support/gpu.h"

#include <cstdlib>

namespace fovea::test {

std::vector<Device> gpus() {
  if (const char* const name = std::getenv("FOVEA_TEST_GPU")) return {make_device(name)};
  std::vector<Device> all;
  for (const DeviceInfo& info : list_devices()) {
    if (info.name == "opencl" || info.name == "cuda") all.push_back(make_device(info.name));
  }
  return all;
}

Device any_gpu() {
  const std::vector<Device> all = gpus();
  if (!all.empty()) return all.front();
  WARN("no driver of OpenCL or CUDA is installed: not tested");
  return Device();
}

}  // namespace fovea::test
