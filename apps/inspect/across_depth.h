// inspect --across-depth: what layer attention adds to its backbone. kcla figure 6.
#pragma once

#include <filesystem>

#include "experiment/costs/growth.h"

namespace fovea::apps {

/// Prints the tables, or one JSON object, and draws `picture` (.png or .svg). Names no layer
/// attention: the experiment's own. Throws ConfigError unless the numbers of blocks ascend.
int draw_across_depth(const experiment::Variation& variation, experiment::GrowthSettings settings,
                      const std::filesystem::path& picture, bool json);

}  // namespace fovea::apps
