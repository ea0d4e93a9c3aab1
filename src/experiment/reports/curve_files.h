// Curves and bars of a report as pictures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/tasks/task_report.h"

namespace fovea::experiment {

/// Writes <name>.png of each.
void write_curves(const std::filesystem::path& folder, const std::string& title,
                  const std::vector<training::Curves>& all);
/// Likewise.
void write_bars(const std::filesystem::path& folder, const std::string& title,
                const std::vector<training::Bars>& all);

}  // namespace fovea::experiment
