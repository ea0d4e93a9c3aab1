// Learning curves of runs, from their metrics.jsonl.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "metrics/metric_info.h"
#include "visualise/plots/plot.h"

namespace fovea::visualise {

struct NamedRun {
  std::string name;  // in the legend
  std::filesystem::path folder;
  std::vector<metrics::MetricInfo> metrics = {};  // that it measures
};

/// Runs that differ in their seed alone; often it is one.
struct SeedRuns {
  std::string name;  // in the legend
  std::vector<NamedRun> runs;
};

struct LearningCurves {
  std::vector<LinePlot> plots;
  std::vector<LegendLine> legend;  // of all plots; empty where each has its own
};

/// One plot for each quantity: the metrics of the runs in their order (the loss of training and of
/// evaluation in one), then what else the logs have, the learning rate and the like. x is the
/// epoch. Of several seeds a curve is the mean, over the epochs that all of them have, and its band
/// the standard deviation (n - 1). The parts of one run have a colour each; of several, a run has a
/// colour and a part has its dashes. wanted: only these quantities, by their names in
/// metrics.jsonl; none: all but the metrics of single classes. Throws FileError if a log is missing
/// or damaged, ConfigError for a wanted quantity that no run has.
LearningCurves learning_curves(const std::vector<SeedRuns>& runs,
                               const std::vector<std::string>& wanted = {});

/// The plots two in a row, as .png or .svg by the ending of the path. Throws ConfigError for
/// another.
void write_curves(const std::filesystem::path& path, const std::vector<SeedRuns>& runs,
                  const std::vector<std::string>& wanted = {});

}  // namespace fovea::visualise
