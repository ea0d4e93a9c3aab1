// Learning curves of runs, from their metrics.jsonl.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "metrics/metric_info.h"
#include "visualise/plot.h"

namespace fovea::visualise {

struct NamedRun {
  std::string name;  // in the legend
  std::filesystem::path folder;
  std::vector<metrics::MetricInfo> metrics = {};  // that it measures
};

/// One plot for each quantity: the metrics of the runs in their order (the loss of training and of
/// evaluation in one), then what else the logs have, the learning rate and the like. x is the
/// epoch. Throws FileError if a log is missing or damaged.
std::vector<LinePlot> learning_curves(const std::vector<NamedRun>& runs);

/// The plots two in a row, as .png or .svg by the ending of the path. Throws ConfigError for
/// another.
void write_curves(const std::filesystem::path& path, const std::vector<NamedRun>& runs);

}  // namespace fovea::visualise
