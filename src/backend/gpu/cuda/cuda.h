// Devices of CUDA.
#pragma once

#include <string>
#include <vector>

#include "tensor/device.h"

struct CUevent_st;  // cudaEvent_t, of CUDA's headers

namespace fovea::gpu {

/// What there is: name, compute capability, memory. Empty where no driver is installed.
std::vector<std::string> cuda_devices();

/// What they do slower than they could, and the library that is missing for it, one line each.
std::vector<std::string> cuda_missing();

/// Number `index` of them. allow_tf32: for products of float32 (backend/devices.h). Throws
/// BackendError where it is not there.
Device make_cuda(int index, bool allow_tf32);

/// The event (a cudaEvent_t) that marks a moment of such a device, for other queues of it.
CUevent_st* cuda_event(const Moment& moment);

}  // namespace fovea::gpu
