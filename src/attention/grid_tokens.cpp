#include "attention/grid_tokens.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/shape.h"

namespace fovea::attention {

Tensor grid_tokens(const char* variant, const Tensor& x, const Layout& layout) {
  const auto& [prefix, h, w] = layout;
  FOVEA_CHECK(
      h * w > 0 && x.size(1) == prefix + h * w, ShapeError,
      fmt::format("{}: {} tokens, of which {} lie before a grid of {} x {}; it needs a grid",
                  variant, x.size(1), prefix, h, w));
  return prefix == 0 ? x : ops::slice(x, 1, prefix, h * w);
}

Tensor behind_prefix(const Tensor& grid, const Layout& layout) {
  if (layout.prefix_tokens == 0) return grid;
  return ops::pad(grid, {{0, 0}, {layout.prefix_tokens, 0}, {0, 0}});
}

void check_grid_known(const char* variant, const Slot& slot) {
  FOVEA_CHECK(slot.layout.grid_h * slot.layout.grid_w > 0, ConfigError,
              fmt::format("{}: has parameters for every token, and this network does not say how "
                          "many there are; choose another attention",
                          variant));
}

}  // namespace fovea::attention
