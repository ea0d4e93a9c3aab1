// Flags that switch parts of a network or of its input off, the same in explain and eval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/options.h"
#include "explain/interventions/drop_patches.h"

namespace fovea::apps {

struct InterventionFlags {
  std::vector<std::string> set_heads;
  std::string drop_patches;  // empty: none
  std::string baseline = "zero";

  /// Throws ConfigError.
  std::optional<explain::PatchDrop> drop(std::int64_t seed) const;
};

/// --set-heads, --drop-patches, --baseline.
void add_intervention_flags(Options cli, InterventionFlags& flags);

}  // namespace fovea::apps
