// Activation patching as files, and as tables for the terminal.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "explain/interventions/patched_runs.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// For each input of each run a table of effects: rows are layers, columns places.
std::string patching_tables_text(const std::vector<explain::PatchedInput>& patched);

/// Writes patching.csv (a line for each place: logit, probability, effect), patching.json
/// (settings, and the same) and patching.png (layers by places, runs side by side). Returns their
/// names.
std::vector<std::string> write_patching_files(const std::filesystem::path& folder,
                                              const std::vector<explain::PatchedInput>& patched,
                                              schema::Value settings);

}  // namespace fovea::experiment
