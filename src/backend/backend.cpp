#include "backend/backend.h"

#include <fmt/format.h>

namespace fovea {

void Backend::missing(const char* kernel) const {
  throw BackendError(fmt::format("{}: no kernel {}; run with device=cpu", name(), kernel));
}

}  // namespace fovea
