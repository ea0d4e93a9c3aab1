#include "backend/stub/stub.h"

#include <fmt/format.h>

#include "backend/backend.h"

namespace fovea {
namespace {

template <class... Arguments>
[[noreturn]] void missing(const std::string& device, const char* kernel, const Arguments&...) {
  throw BackendError(fmt::format("{}: no kernel {}; run with device=cpu", device, kernel));
}

class Stub final : public Backend {
 public:
  explicit Stub(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }

#define FOVEA_UNPACK(...) __VA_ARGS__
#define FOVEA_KERNEL(kernel, parameters, arguments) \
  void kernel parameters const override { missing(name_, #kernel, FOVEA_UNPACK arguments); }
#include "backend/kernels.def"
#undef FOVEA_UNPACK

 private:
  std::string name_;
};

}  // namespace

Device make_stub(DeviceType type, const std::string& name, int index) {
  const auto refuse = [name](auto...) -> MemoryHandle {
    throw BackendError(
        fmt::format("{}: this build has no {} backend; run with device=cpu", name, name));
  };
  // (Nothing is ever released or copied where nothing can be had.)
  return Device(
      type,
      {.allocate = refuse, .release = refuse, .upload = refuse, .download = refuse, .address = {}},
      std::make_shared<const Stub>(name), index);
}

}  // namespace fovea
