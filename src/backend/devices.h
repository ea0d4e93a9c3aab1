// Makes devices. An app makes one and hands it down.
#pragma once

#include <string>
#include <vector>

#include "tensor/device.h"

namespace fovea {

/// The host. threads = 0 takes all cores the process may use. Results do not depend on `threads`.
Device make_cpu(int threads = 0);

/// Threads of a host device: fewer than make_cpu was asked for where the system gave no more; 0 for
/// any other device.
int host_threads(const Device& device);

/// Shapes and accounting only: allocations cost nothing but are counted, kernels do nothing.
Device make_meta();

/// A device by name: "cpu", "opencl", "cuda", or one of several: "cuda:1". Throws ConfigError for
/// another name and BackendError where the device does not exist. allow_tf32: products of float32
/// on CUDA may keep 10 bits of an operand's mantissa, for the speed of its tensor cores.
Device make_device(const std::string& name, int threads = 0, bool allow_tf32 = false);

/// A device that make_device knows, with what its driver says of it.
struct DeviceInfo {
  std::string name, description;
};
std::vector<DeviceInfo> list_devices();

}  // namespace fovea
