// NCCL: messages between the memories of CUDA devices.
#pragma once

#include <memory>

#include "parallel/ranks.h"
#include "parallel/transport.h"

namespace fovea::parallel {

/// Joins the devices of all ranks, which call it together, each with its own. Null where one of
/// them has no NCCL (the library is opened when it is first needed), or no device of CUDA. Throws
/// BackendError where NCCL refuses, as for two ranks on one device.
std::shared_ptr<DeviceLink> open_nccl(Ranks& ranks, const Device& device);

}  // namespace fovea::parallel
