// inspect robustness: scores of runs against the level of noise.
#pragma once

#include <string>
#include <vector>

#include "common/options.h"

namespace fovea::apps {

struct RobustnessArguments {
  std::vector<std::string> runs;
  std::string split;  // empty: the one that the first run reports
  std::string out = "robustness.png";
};

/// The subcommand "robustness". `args` must outlive the parsing.
Options add_robustness(Options cli, RobustnessArguments& args);
/// Draws and prints it (visualise/plots/robustness.h); returns the exit status.
int draw_robustness(const RobustnessArguments& args);

}  // namespace fovea::apps
