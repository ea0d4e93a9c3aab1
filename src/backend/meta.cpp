// The meta device: shapes and accounting only. Fused kernels do nothing instead of being composed:
// default bodies allocate memory that a real device does not.
#include "backend/backend.h"
#include "backend/devices.h"

#include <cstring>

namespace fovea {
namespace {

template <class... Arguments>
void ignore(const Arguments&...) {}

class MetaBackend final : public Backend {
 public:
  std::string name() const override { return "meta"; }
  // As the host does.
  bool keeps_map_results(const AttentionArgs& args) const override {
    return args.two_maps() && args.is_long();
  }

#define FOVEA_KERNEL(kernel, parameters, arguments) \
  void kernel parameters const override { ignore arguments; }
#include "backend/kernels.def"
};

// No memory: handles are numbers, and every read gives zeros.
MemorySource no_memory() {
  return {
      .allocate = [last = MemoryHandle{0}](std::int64_t) mutable { return ++last; },
      .release = [](MemoryHandle, std::int64_t) {},
      .upload = [](const void*, Buffer, std::int64_t) {},
      .download = [](Buffer, void* to,
                     std::int64_t bytes) { std::memset(to, 0, static_cast<std::size_t>(bytes)); },
      .address = {}};
}

}  // namespace

Device make_meta() {
  return Device(DeviceType::kMeta, no_memory(), std::make_shared<const MetaBackend>());
}

}  // namespace fovea
