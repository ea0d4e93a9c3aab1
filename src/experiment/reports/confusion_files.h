// A confusion matrix as a table and a picture.
#pragma once

#include <filesystem>
#include <string>

#include "training/tasks/task_report.h"

namespace fovea::experiment {

/// Writes confusion.csv and confusion.png: rows are the truth, columns the prediction.
void write_confusion(const std::filesystem::path& folder, const std::string& title,
                     const training::Confusion& confusion);

}  // namespace fovea::experiment
