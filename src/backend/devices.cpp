#include "backend/devices.h"

#include <fmt/format.h>

#include <charconv>

#include "backend/backend.h"
#include "backend/gpu/cuda/cuda.h"
#include "backend/gpu/opencl/opencl.h"
#include "base/error.h"

namespace fovea {
namespace {

// "cuda" or "cuda:1".
struct DeviceName {
  std::string type;
  int index = 0;
};

DeviceName parse(const std::string& name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return {name, 0};
  DeviceName parsed{name.substr(0, colon), 0};
  const char* end = name.data() + name.size();
  const auto [rest, status] = std::from_chars(name.data() + colon + 1, end, parsed.index);
  FOVEA_CHECK(status == std::errc() && rest == end && parsed.index >= 0, ConfigError,
              fmt::format("device: \"{}\": expected a number from 0 behind the colon", name));
  return parsed;
}

void add(std::vector<DeviceInfo>& all, DeviceType type, const char* name,
         const std::vector<std::string>& some) {
  for (std::size_t i = 0; i < some.size(); ++i)
    all.push_back({type, i == 0 ? name : fmt::format("{}:{}", name, i), some[i]});
}

}  // namespace

std::vector<std::string> missing_libraries(DeviceType type) {
  return type == DeviceType::kCuda ? gpu::cuda_missing() : std::vector<std::string>();
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> all = {{DeviceType::kCpu, "cpu", make_cpu().backend().description()}};
  add(all, DeviceType::kOpenCl, "opencl", gpu::opencl_devices());
  add(all, DeviceType::kCuda, "cuda", gpu::cuda_devices());
  return all;
}

Device make_device(const std::string& name, const DeviceSettings& settings) {
  const DeviceName wanted = parse(name);
  if (wanted.type == "cpu" && wanted.index == 0)
    return make_cpu(settings.threads, settings.batch_invariant);
  FOVEA_CHECK(!settings.batch_invariant, ConfigError,
              fmt::format("batch_invariant: only of device cpu, not of {}", name));
  if (wanted.type == "opencl") return gpu::make_opencl(wanted.index);
  if (wanted.type == "cuda") return gpu::make_cuda(wanted.index, settings.allow_tf32);
  throw ConfigError(
      fmt::format("device: no device called \"{}\"; known: cpu, opencl, cuda, and "
                  "with several of a kind cuda:1",
                  name));
}

}  // namespace fovea
