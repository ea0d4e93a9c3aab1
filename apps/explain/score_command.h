// fovea explain --score: methods of explanation judged on the samples of a split.
#pragma once

#include <filesystem>

#include "explain/scored/scored_runs.h"

namespace fovea::apps {

/// Scores, prints the table and writes the files. `quiet`: no progress and no notes.
int score_explanations(explain::ScoreRequest asked, const std::filesystem::path& out, bool quiet);

/// For a help: every score with what it is.
std::string score_lines();

}  // namespace fovea::apps
