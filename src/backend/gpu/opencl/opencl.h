// Devices of OpenCL.
#pragma once

#include <string>
#include <vector>

#include "tensor/device.h"

namespace fovea::gpu {

/// What there is, graphics processors first: name, driver, memory. Empty where no driver is
/// installed.
std::vector<std::string> opencl_devices();

/// Number `index` of them. Throws BackendError where it is not there or too small for our kernels.
Device make_opencl(int index);

}  // namespace fovea::gpu
