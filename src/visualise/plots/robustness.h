// A metric against the level of noise, several runs side by side, from what `eval` wrote. dgsa
// section 8.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "metrics/metric_info.h"
#include "schema/json/value.h"
#include "visualise/plots/plot.h"

namespace fovea::visualise {

/// A run folder and its resolved configuration.
struct ScoredRun {
  std::filesystem::path folder;
  schema::Value config;    // resolved
  schema::Value settings;  // what of it results depend on (schema::identity)
};

/// The runs of one configuration, which differ by their seeds: mean, standard deviation (n - 1;
/// NaN for a single run) and number of runs, of one number that each run has.
struct SeedSpread {
  double mean = 0;
  double std = 0;
  std::int64_t n = 0;
};

/// The scores of one configuration.
struct RobustnessRow {
  std::string name;
  SeedSpread clean;
  std::vector<std::vector<SeedSpread>> noisy;  // by type and level
  std::vector<SeedSpread> by_type;             // of the runs' means over the levels
  std::vector<SeedSpread> by_level;            // of the runs' means over the types
  SeedSpread mean;                             // of the runs' means over both
  SeedSpread retention;                        // metrics::retention(), a share
};

struct Robustness {
  std::string split;
  metrics::MetricInfo metric;
  std::vector<std::string> types;
  std::vector<double> levels;
  std::vector<RobustnessRow> rows;  // in the order of the runs
};

/// RUN/eval/<split>/results.json of every folder. Runs that differ in their seed alone make a row;
/// rows of one name are told apart by the settings in which they differ. Throws FileError if a file
/// is missing, damaged or without noise; ConfigError if metrics, types or levels differ, or runs of
/// one row have one seed or were scored on other weights (last, best) or samples.
Robustness read_robustness(const std::vector<ScoredRun>& runs, const std::string& split);

/// A line a row: clean, every type (mean over levels), mean, retention. The first is the header.
std::vector<std::vector<std::string>> robustness_table(const Robustness& robustness);
/// Columns run, type, level, <metric>_mean, <metric>_std, n; the clean score is type "clean",
/// level 0.
std::string robustness_csv(const Robustness& robustness);
/// A plot for each type, and one of the mean over types if there are several; level 0 is clean.
std::vector<LinePlot> robustness_plots(const Robustness& robustness);

/// The plots as .png or .svg by the ending of the path, and robustness_csv beside it. Throws
/// ConfigError for another ending.
void write_robustness(const std::filesystem::path& path, const Robustness& robustness);

}  // namespace fovea::visualise
