#include "backend/gpu/gpu_backend.h"

#include "backend/gpu/staging.h"

namespace fovea::gpu {

Device make_gpu(DeviceType type, const std::shared_ptr<Runtime>& runtime, int index) {
  const auto staging = std::make_shared<Staging>(runtime);
  const MemorySource memory{
      .allocate = [runtime](std::int64_t bytes) { return runtime->allocate(bytes); },
      .release = [runtime](MemoryHandle handle, std::int64_t) { runtime->release(handle); },
      .upload = [staging](const void* from, Buffer to,
                          std::int64_t bytes) { staging->upload(from, to, bytes); },
      .download = [runtime](Buffer from, void* to,
                            std::int64_t bytes) { runtime->download(from, to, bytes); },
      .read_later = [staging](Buffer from,
                              std::int64_t bytes) { return Staging::read(staging, from, bytes); }};
  const char* name = type == DeviceType::kCuda ? "cuda" : "opencl";
  return Device(type, memory, std::make_shared<const GpuBackend>(name, runtime), index);
}

}  // namespace fovea::gpu
