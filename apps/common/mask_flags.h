// Flags for masks, the same in predict and eval: mirroring and post-processing.
#pragma once

#include <string>
#include <vector>

#include "common/options.h"
#include "training/inference/postprocessing.h"

namespace fovea::apps {

/// --mirror, which becomes an override of a run's configuration.
void add_mirror_flag(Options cli, std::vector<std::string>& axes);
/// Adds it, where axes are given.
void add_mirror_override(const std::vector<std::string>& axes, std::vector<std::string>& overrides);
/// --keep-largest, --min-size.
void add_postprocessing_flags(Options cli, training::PostprocessingOptions& asked);

}  // namespace fovea::apps
