// Opened runs as figures see them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/run/open_run.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::experiment {

/// `paths`: of the folder or experiment file of each. `split`: the part of the data that is looked
/// at, empty for the one that a run reports. The runs must outlive what is returned. Throws
/// ConfigError for a split that a run does not have.
std::vector<visualise::ShownRun> shown_runs(const std::vector<Opened>& opened,
                                            const std::vector<std::string>& paths,
                                            const std::string& split);

}  // namespace fovea::experiment
