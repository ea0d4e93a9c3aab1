// Curves of a report as pictures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/tasks/task_report.h"

namespace fovea::experiment {

/// Writes <name>.png of each.
void write_curves(const std::filesystem::path& folder, const std::string& title,
                  const std::vector<training::Curves>& all);

}  // namespace fovea::experiment
