// A table of a report as a file.
#pragma once

#include <string>

#include "training/tasks/task_report.h"

namespace fovea::experiment {

/// CSV: a line of heads, then one for each row. Numbers are written in full; what is undefined is
/// an empty cell.
std::string csv_text(const training::Table& table);

}  // namespace fovea::experiment
