#include "tensor/device.h"

#include <utility>

namespace fovea {

Device::Device(DeviceType type, MemorySource memory, std::shared_ptr<const Backend> backend)
    : state_(new State{type, CachingAllocator(std::move(memory)), std::move(backend)}) {}

std::string Device::name() const {
  switch (type()) {
    case DeviceType::kCpu:
      return "cpu";
    case DeviceType::kMeta:
      return "meta";
    case DeviceType::kOpenCl:
      return "opencl";
    case DeviceType::kCuda:
      return "cuda";
  }
  return "unknown";
}

bool Device::operator==(const Device& other) const {
  if (state_ == other.state_) return true;
  if (!defined() || !other.defined() || type() != other.type()) return false;
  return type() == DeviceType::kCpu || type() == DeviceType::kMeta;
}

}  // namespace fovea
