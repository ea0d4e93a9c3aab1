#include "layer_attention/context.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/in_place.h"

namespace fovea::layer_attention {

schema::Fields<ContextOptions> context_fields() {
  return schema::Fields<ContextOptions>{}.add("stages", &ContextOptions::stages,
                                              schema::at_least(1),
                                              "stages that have the block, from 1; empty = all");
}

bool stands_in(const ContextOptions& o, const Slot& slot) {
  for (const std::int64_t stage : o.stages) {
    FOVEA_CHECK(!slot.last_stage || stage <= slot.stage + 1, ConfigError,
                fmt::format("model.layer_attention.stages: {}, but the network has {} stages",
                            stage, slot.stage + 1));
  }
  return o.stages.empty() || std::count(o.stages.begin(), o.stages.end(), slot.stage + 1) > 0;
}

void start_at_zero(const nn::Module& layer) {
  for (const nn::NamedTensor& named : layer.parameters()) ops::fill(named.tensor, 0);
}

std::array<Names, 3> names_inside(const char* core) {
  return {{{.core = core}, {.core = core}, {.blocks = "layers", .core = core}}};
}

}  // namespace fovea::layer_attention
