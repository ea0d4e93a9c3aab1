// A score against the size of networks and the cost of a forward pass. gdla figure 1.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "visualise/plot.h"

namespace fovea::visualise {

struct TradeoffRow {
  std::string name;
  double score = 0;
  std::optional<double> parameters;
  std::optional<double> cost;  // of one sample: multiply-adds, or what a paper calls FLOPs
};

/// Rows of one table or sweep.
struct TradeoffSource {
  std::string name;
  std::string score;  // what it is: "DSC", "test_mean_dice, %"
  std::string cost;   // what it counts: "multiply-adds"
  std::vector<TradeoffRow> rows;
};

/// Score against parameters, and against cost; a plot that no row has a number for is left out, as
/// are rows without one. Every point has its name, every source its colour. Over more than a decade
/// the horizontal axis is logarithmic.
std::vector<LinePlot> tradeoff_plots(const std::vector<TradeoffSource>& sources);

/// Columns source,row,score,parameters,cost; cells of what is not known are empty.
std::string tradeoff_csv(const std::vector<TradeoffSource>& sources);

/// The plots as .png or .svg, side by side, and tradeoff_csv beside it. Throws ConfigError for
/// another ending and where there is nothing to draw.
void write_tradeoff(const std::filesystem::path& path, const std::vector<TradeoffSource>& sources);

}  // namespace fovea::visualise
