// Scores of networks against their size, cost and speed.
#pragma once

#include <string>
#include <vector>

#include "common/options.h"
#include "experiment/costs/throughput.h"

namespace fovea::apps {

struct TradeoffArguments {
  std::vector<std::string> sources;  // folders of sweeps, files of published numbers
  std::string table;
  std::vector<std::string> metrics;  // one for all sources, or one for each
  bool throughput = false;
  experiment::ThroughputSettings timing;
  std::string out = "tradeoff.png";
};

/// The subcommand "tradeoff". `args` must outlive the parsing.
Options add_tradeoff(Options cli, TradeoffArguments& args);
/// Draws and prints them (visualise/plots/tradeoff.h); returns the exit status.
int draw_tradeoff(const TradeoffArguments& args);

}  // namespace fovea::apps
