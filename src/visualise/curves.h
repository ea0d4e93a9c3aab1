// Learning curves of runs, from their metrics.jsonl.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "visualise/plot.h"

namespace fovea::visualise {

struct NamedRun {
  std::string name;  // in the legend
  std::filesystem::path folder;
};

/// One plot for each quantity: loss (training and evaluation), every further metric of the
/// evaluations, learning rate. x is the epoch. Throws FileError if a log is missing or damaged.
std::vector<LinePlot> learning_curves(const std::vector<NamedRun>& runs);

/// The plots two in a row, as .png or .svg by the ending of the path. Throws ConfigError for
/// another.
void write_curves(const std::filesystem::path& path, const std::vector<NamedRun>& runs);

}  // namespace fovea::visualise
