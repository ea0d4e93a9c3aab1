#include "backend/devices.h"

#include <fmt/format.h>

#include "backend/backend.h"
#include "backend/stub/stub.h"

namespace fovea {
namespace {

class MetaBackend final : public Backend {
 public:
  std::string name() const override { return "meta"; }

 private:
  void missing(const char*) const override {}
};

// Any address that is not null: it is never read.
MemorySource no_memory() {
  return {[](std::int64_t) { return reinterpret_cast<void*>(std::uintptr_t{64}); }, [](void*) {}};
}

}  // namespace

Device make_meta() {
  return Device(DeviceType::kMeta, no_memory(), std::make_shared<const MetaBackend>());
}

Device make_device(const std::string& name, int threads) {
  if (name == "cpu") return make_cpu(threads);
  if (name == "opencl") return make_stub(DeviceType::kOpenCl, name);
  if (name == "cuda") return make_stub(DeviceType::kCuda, name);
  throw ConfigError(fmt::format("device: no device called \"{}\"; known: cpu, opencl, cuda", name));
}

}  // namespace fovea
