#include "backend/stub/stub.h"

#include <fmt/format.h>

#include "backend/backend.h"

namespace fovea {
namespace {

class Stub final : public Backend {
 public:
  explicit Stub(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }

 private:
  std::string name_;
};

}  // namespace

Device make_stub(DeviceType type, const std::string& name) {
  const auto refuse = [name](std::int64_t) -> void* {
    throw BackendError(
        fmt::format("{}: this build has no {} backend; run with device=cpu", name, name));
  };
  return Device(type, {refuse, [](void*) {}}, std::make_shared<const Stub>(name));
}

}  // namespace fovea
