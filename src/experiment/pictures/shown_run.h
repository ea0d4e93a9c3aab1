// Opened runs as figures see them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/run/open_run.h"
#include "training/store/foreign_weights.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::experiment {

/// What a run or an experiment file must open to show these inputs: the part that is looked at
/// where they name its samples by number, or nothing is named. Files and texts need none, and
/// images that are made of noise neither.
WantedSamples samples_shown(const std::filesystem::path& path,
                            const std::vector<std::string>& inputs,
                            const std::vector<std::string>& texts, const std::string& split);

/// Runs, model files and experiment files that are shown, each with the same settings.
struct ShownPaths {
  std::vector<std::string> runs;    // or experiment files, each with a file of weights
  std::vector<std::string> inputs;  // numbers of samples, or files
  std::vector<std::string> texts;   // words to be read
  std::string split;                // empty: the one that the run reports
  std::string checkpoint;
  std::optional<bool> averaged;
  std::vector<std::filesystem::path> weights;  // of the experiment files among `runs`, in order
  training::ForeignWeights reading;            // how they are read; its file is not used
  std::vector<std::string> overrides;
  int threads = 0;
};
/// Opens all of them. Throws ConfigError unless there are as many files of weights as experiment
/// files, and what opening throws.
std::vector<Opened> open_shown(const ShownPaths& paths);

/// `paths`: of the folder or experiment file of each. `split`: the part of the data that is looked
/// at, empty for the one that a run reports. The runs must outlive what is returned. Throws
/// ConfigError for a split that a run does not have.
std::vector<visualise::ShownRun> shown_runs(const std::vector<Opened>& opened,
                                            const std::vector<std::string>& paths,
                                            const std::string& split);

}  // namespace fovea::experiment
