// Which runs learning curves are drawn of, and which of them differ in their seed or fold alone.
#pragma once

#include <string>
#include <vector>

#include "visualise/plots/curves.h"

namespace fovea::experiment {

struct CurveRuns {
  std::vector<visualise::SeedRuns> groups;  // in the order of the folders
  std::vector<std::string> notes;           // what was left out, for the user
};

/// Folders of runs, and of sweeps made by ablate or folders with several runs, which stand for the
/// runs in them that have begun. Runs that differ in nothing but their seed, or the fold of their
/// cross-validation, make a group; where two groups would have one name,
/// their folders tell them apart. Throws FileError for a folder that is neither.
CurveRuns curve_runs(const std::vector<std::string>& folders);

}  // namespace fovea::experiment
