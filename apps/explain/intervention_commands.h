// fovea explain --head-importance and --patch-from.
#pragma once

#include <filesystem>

#include "explain/interventions/judged_heads.h"
#include "explain/interventions/patched_runs.h"
#include "schema/json/value.h"

namespace fovea::apps {

/// What every head is worth: prints the tables and writes the files. `settings`: for the record.
/// `quiet`: no progress.
int judge_heads(explain::HeadRequest asked, const std::filesystem::path& out,
                schema::Value settings, bool quiet);

/// Activation patching: the same.
int patch_activations(const explain::PatchRequest& asked, const std::filesystem::path& out,
                      schema::Value settings, bool quiet);

}  // namespace fovea::apps
