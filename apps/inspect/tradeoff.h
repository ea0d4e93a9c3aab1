// Scores of networks against their size and cost.
#pragma once

#include <string>
#include <vector>

namespace fovea::apps {

struct TradeoffArguments {
  std::vector<std::string> sources;  // folders of sweeps, files of published numbers
  std::string table;
  std::vector<std::string> metrics;  // one for all sources, or one for each
  std::string out = "tradeoff.png";
};

/// Draws and prints them (visualise/tradeoff.h); returns the exit status.
int draw_tradeoff(const TradeoffArguments& args);

}  // namespace fovea::apps
