#include "tensor/device.h"

#include <fmt/format.h>

#include <utility>

namespace fovea {

namespace {

const char* name_of(DeviceType type) {
  switch (type) {
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

}  // namespace

Device::Device(DeviceType type, MemorySource memory, std::shared_ptr<const Backend> backend,
               int index)
    : state_(new State{type, CachingAllocator(std::move(memory)), std::move(backend), index}) {}

std::string Device::name() const {
  const char* type_name = name_of(type());
  return index() == 0 ? type_name : fmt::format("{}:{}", type_name, index());
}

bool Device::operator==(const Device& other) const {
  if (state_ == other.state_) return true;
  if (!defined() || !other.defined() || type() != other.type()) return false;
  return type() == DeviceType::kCpu || type() == DeviceType::kMeta;
}

}  // namespace fovea
