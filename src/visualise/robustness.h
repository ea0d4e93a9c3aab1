// Accuracy against the level of noise, several runs side by side, from what `eval` wrote. dgsa
// section 8.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "visualise/plot.h"

namespace fovea::visualise {

/// Of the runs of one name, which differ by their seeds: mean, standard deviation (n - 1; 0 for a
/// single run) and number of runs. Percent.
struct Spread {
  double mean = 0;
  double std = 0;
  std::int64_t n = 0;
};

/// One name's accuracies.
struct RobustnessRow {
  std::string name;
  Spread clean;
  std::vector<std::vector<Spread>> noisy;  // by type and level
  Spread mean;                             // over all types and levels
  Spread retention;                        // mean / clean, a share
};

struct Robustness {
  std::string split;
  std::vector<std::string> types;
  std::vector<double> levels;
  std::vector<RobustnessRow> rows;  // in the order of the runs
};

/// RUN/eval/<split>/results.json of every folder. Throws FileError if one is missing, damaged or
/// without noise, ConfigError if the types or levels differ.
Robustness read_robustness(const std::vector<std::filesystem::path>& runs,
                           const std::string& split);

/// A row a name: clean, every type (mean over levels), mean, retention. The first is the header.
std::vector<std::vector<std::string>> robustness_table(const Robustness& robustness);
/// Columns run, type, level, top1_mean, top1_std, n; the clean accuracy is type "clean", level 0.
std::string robustness_csv(const Robustness& robustness);
/// A plot for each type, and one of the mean over types if there are several; level 0 is clean.
std::vector<LinePlot> robustness_plots(const Robustness& robustness);

/// The plots as .png or .svg by the ending of the path, and robustness_csv beside it. Throws
/// ConfigError for another ending.
void write_robustness(const std::filesystem::path& path, const Robustness& robustness);

}  // namespace fovea::visualise
