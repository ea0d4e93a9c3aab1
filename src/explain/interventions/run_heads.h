// The heads of runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "explain/interventions/set_heads.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::explain {

/// head_sites() of a sample of the run. Throws ConfigError, naming the run.
std::vector<HeadSite> head_sites(const visualise::ShownRun& run);

/// The heads of every run as the settings say, while what is returned lives. Throws ConfigError,
/// naming the run, as SetHeads.
std::vector<std::unique_ptr<SetHeads>> set_heads(const std::vector<visualise::ShownRun>& runs,
                                                 const std::vector<HeadSetting>& settings);

}  // namespace fovea::explain
