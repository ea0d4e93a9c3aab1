#include "tests/support/gpu.h"

namespace fovea::test {

Device any_gpu() {
  for (const DeviceInfo& info : list_devices()) {
    if (info.name == "opencl") return make_device(info.name);
  }
  WARN("no OpenCL driver is installed: not tested");
  return Device();
}

}  // namespace fovea::test
