// Flags of the programs that look into runs: which ones, at which inputs, with which weights.
#pragma once

#include <vector>

#include "common/app.h"
#include "experiment/pictures/shown_run.h"

namespace fovea::apps {

/// RUN, --weights and how they are read, --split, --checkpoint, --ema, --threads and --set.
/// `input_help` says what --input takes.
void add_shown_flags(Program& program, experiment::ShownPaths& paths, const char* input_help);

/// Opens the runs, and prints their notes to stderr.
std::vector<experiment::Opened> opened(const experiment::ShownPaths& paths);

}  // namespace fovea::apps
