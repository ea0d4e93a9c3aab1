// The folder of a sweep: one ablation, and one `ablate` at a time, or its shards.
#pragma once

#include <filesystem>
#include <vector>

#include "experiment/run/process.h"
#include "experiment/sweep/sweep.h"

namespace fovea::experiment {

/// The locks of a sweep. A whole sweep excludes all others; shards exclude only their like. Throws
/// ConfigError if the folder is in use.
std::vector<FileLock> lock_folder(const std::filesystem::path& out, const Shard& shard);

/// Makes the folder that of this ablation. Throws ConfigError if it holds another or something
/// else.
void claim_folder(const Ablation& ablation, const std::filesystem::path& out);

}  // namespace fovea::experiment
