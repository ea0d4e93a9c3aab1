// Attention diagnostics of runs as files and as a table for the terminal.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "explain/diagnostics/diagnosed_runs.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// A row for each metric and run: its mean over samples, layers and heads with the half width of
/// its interval, and that of every layer.
std::string attention_table_text(const explain::DiagnosedRuns& diagnosed);

/// Settings, and every metric with its intervals by layer and head.
schema::Value attention_json(const explain::DiagnosedRuns& diagnosed);

/// Writes attention.json, attention.csv (a line for each run, metric, layer and head, and for means
/// over them) and attention.png. Returns their names.
std::vector<std::string> write_attention_report(const std::filesystem::path& folder,
                                                const explain::DiagnosedRuns& diagnosed);

}  // namespace fovea::experiment
