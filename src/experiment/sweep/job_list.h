// The jobs of a sweep, and who does what: for `ablate --list`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/claim.h"
#include "experiment/run/run_folder.h"
#include "experiment/sweep/ablation.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// A line for each job: its name first, then its state, and who runs it, or why it failed. `now`:
/// seconds since 1970, for the age of signs of life.
std::string job_list_text(const std::vector<const Job*>& jobs,
                          const std::vector<JobStatus>& statuses, std::int64_t now);

/// A list of {id, seed, fold (of a cross-validation), state, message, holder}. holder is null, or
/// {host, process, slurm (null outside of SLURM), since (UTC), last_sign (UTC), gone}.
schema::Value job_list_value(const std::vector<const Job*>& jobs,
                             const std::vector<JobStatus>& statuses);

/// "process 12 on vm", "a child of process 12 on vm, which has ended".
std::string described(const io::ClaimSight& sight);

/// Claims in the folder of a sweep that are nobody's any more, or of no job of the ablation, a line
/// each; for `ablate --check`.
std::vector<std::string> check_claims(const Ablation& ablation, const std::filesystem::path& sweep);

}  // namespace fovea::experiment
