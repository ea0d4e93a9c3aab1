#include "nn/construction.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::nn {

void Construction::add() {
  ++parts_;
  FOVEA_CHECK(parts_ <= kMostParts, ConfigError,
              fmt::format("model: more than {} modules and parameters; expected fewer: lower the "
                          "number of blocks",
                          kMostParts));
}

}  // namespace fovea::nn
