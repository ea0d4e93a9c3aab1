// Makes devices. An app makes one and hands it down.
#pragma once

#include <string>
#include <vector>

#include "tensor/device.h"

namespace fovea {

/// The host. threads = 0 takes all cores the process may use. Results do not depend on `threads`.
/// batch_invariant: what a network computes of an item in evaluation has the same bits whatever
/// else is in the batch. Where libraries that choose by sizes are faster (oneDNN, tile registers),
/// it does without them.
Device make_cpu(int threads = 0, bool batch_invariant = false);

/// Threads of a host device: fewer than make_cpu was asked for where the system gave no more; 0 for
/// any other device.
int host_threads(const Device& device);

/// Shapes and accounting only: allocations cost nothing but are counted, kernels do nothing.
Device make_meta();

struct DeviceSettings {
  int threads = 0;               // of the host
  bool allow_tf32 = false;       // products of float32 on CUDA may keep 10 bits of an operand's
                                 // mantissa, for the speed of its tensor cores
  bool batch_invariant = false;  // of the host: make_cpu
};

/// A device by name: "cpu", "opencl", "cuda", or one of several: "cuda:1". Throws ConfigError for
/// another name or a setting that the device does not have, and BackendError where the device does
/// not exist.
Device make_device(const std::string& name, const DeviceSettings& settings = {});

/// What devices of a type do slower than they could because a library is not installed, one line
/// each. Opens the libraries, which are large.
std::vector<std::string> missing_libraries(DeviceType type);

/// A device that make_device knows, with what its driver says of it.
struct DeviceInfo {
  DeviceType type;
  std::string name, description;
};
std::vector<DeviceInfo> list_devices();

}  // namespace fovea
