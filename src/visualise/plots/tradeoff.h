// A score against the size of networks, the cost of a forward pass and its speed. gdla figure 1,
// mala figures 5 and 6.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "visualise/plots/plot.h"

namespace fovea::visualise {

struct TradeoffRow {
  std::string name;
  double score = 0;
  std::optional<double> parameters;
  std::optional<double> macs;                // multiply-adds of one sample
  std::optional<double> macs_paper;          // the same as the paper counts them
  std::optional<double> samples_per_s = {};  // forward
  std::string measured_on = {};              // on which machine and how; "" where it was not
};

/// Rows of one table or sweep.
struct TradeoffSource {
  std::string name;
  std::string score;  // what it is: "DSC", "test_pooled_dice, %"
  std::vector<TradeoffRow> rows;
  std::int64_t left_out = 0;  // rows without this score
};

/// Score against parameters, both counts of multiply-adds, and samples a second; a plot that no row
/// has a number for is left out, as are rows without one. Every point has its name, every source
/// its colour. Over more than a decade the horizontal axis is logarithmic.
std::vector<LinePlot> tradeoff_plots(const std::vector<TradeoffSource>& sources);

/// Columns source,row,score,parameters,macs,macs_paper,samples_per_s,measured_on; cells of what is
/// not known are empty.
std::string tradeoff_csv(const std::vector<TradeoffSource>& sources);

/// The plots as .png or .svg, side by side, and tradeoff_csv beside it. Throws ConfigError for
/// another ending and where there is nothing to draw.
void write_tradeoff(const std::filesystem::path& path, const std::vector<TradeoffSource>& sources);

}  // namespace fovea::visualise
