// Flags for post-processing of masks, the same in predict and eval.
#pragma once

#include "common/options.h"
#include "training/inference/postprocessing.h"

namespace fovea::apps {

/// --keep-largest, --min-size.
void add_postprocessing_flags(Options cli, training::PostprocessingOptions& asked);

}  // namespace fovea::apps
