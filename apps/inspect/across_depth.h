// inspect --across-depth: what layer attention adds to its backbone. kcla figure 6.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/options.h"
#include "experiment/costs/growth.h"

namespace fovea::apps {

struct AcrossDepthArguments {
  std::vector<std::int64_t> blocks;           // of a stage; none: not asked for
  std::vector<std::string> layer_attentions;  // none: the experiment's own
  std::int64_t timed_steps = 0;
  std::string picture = "across-depth.png";
};

/// Adds --across-depth and its options. `args` must outlive the parsing.
void add_across_depth(Options cli, AcrossDepthArguments& args);
/// Prints the tables, or one JSON object, and draws the picture (.png or .svg). Throws ConfigError
/// unless the numbers of blocks ascend.
int draw_across_depth(const experiment::Variation& variation, const AcrossDepthArguments& args,
                      bool json);

}  // namespace fovea::apps
