// A backend that was not built: every kernel throws BackendError naming itself, so that the rest of
// the code needs no #ifdef.
#pragma once

#include <string>

#include "tensor/device.h"

namespace fovea {

Device make_stub(DeviceType type, const std::string& name, int index = 0);

}  // namespace fovea
