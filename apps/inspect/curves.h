// inspect curves: learning curves of runs.
#pragma once

#include <string>
#include <vector>

#include "common/options.h"

namespace fovea::apps {

struct CurvesArguments {
  std::vector<std::string> runs, metrics;
  std::string out = "curves.png";
};

/// The subcommand "curves". `args` must outlive the parsing.
Options add_curves(Options cli, CurvesArguments& args);
/// Draws them (visualise/plots/curves.h); returns the exit status.
int draw_curves(const CurvesArguments& args);

}  // namespace fovea::apps
