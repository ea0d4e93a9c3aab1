// Opened runs as figures see them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/run/open_run.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::experiment {

/// What a run or an experiment file must open to show these inputs: the part that is looked at
/// where they name its samples by number, or nothing is named. Files and texts need none, and
/// images that are made of noise neither.
WantedSamples samples_shown(const std::filesystem::path& path,
                            const std::vector<std::string>& inputs,
                            const std::vector<std::string>& texts, const std::string& split);

/// `paths`: of the folder or experiment file of each. `split`: the part of the data that is looked
/// at, empty for the one that a run reports. The runs must outlive what is returned. Throws
/// ConfigError for a split that a run does not have.
std::vector<visualise::ShownRun> shown_runs(const std::vector<Opened>& opened,
                                            const std::vector<std::string>& paths,
                                            const std::string& split);

}  // namespace fovea::experiment
