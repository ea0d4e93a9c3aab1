// What heads of runs are worth as files, and as tables for the terminal.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "explain/interventions/judged_heads.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// For each run three tables, of which rows are layers and columns heads.
std::string head_tables_text(const explain::JudgedHeads& judged);

/// Writes heads.csv (a line for each head, with intervals), heads.json (settings, and the same) and
/// heads.png (layers by heads, runs side by side). Returns their names.
std::vector<std::string> write_head_files(const std::filesystem::path& folder,
                                          const explain::JudgedHeads& judged,
                                          schema::Value settings);

}  // namespace fovea::experiment
