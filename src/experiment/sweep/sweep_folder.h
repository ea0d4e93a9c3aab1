// The folder of a sweep: one ablation, and any number of processes that work on it.
#pragma once

#include <filesystem>
#include <set>

#include "base/claim.h"
#include "experiment/sweep/ablation.h"

namespace fovea::experiment {

/// Makes the folder that of this ablation. Throws ConfigError if it holds another or something
/// else, or if others run jobs of it and what it says now differs.
void open_sweep_folder(const Ablation& ablation, const std::filesystem::path& out);

/// The claims of all jobs in the folder of a sweep, also where only something was left of them.
std::set<std::filesystem::path> claims_in(const std::filesystem::path& out);

/// Removes the claims of processes that are gone, and files that such left half made: of claims, and
/// of what was written when one was killed on this machine.
void tidy_folder(const std::filesystem::path& out, io::ClaimWatch& watch);

}  // namespace fovea::experiment
