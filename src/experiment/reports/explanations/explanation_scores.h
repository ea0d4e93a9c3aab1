// Scores of explanations as files and as a table for the terminal.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "explain/scored/score_table.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// Rows are methods, of several runs with their names; columns are scores: the mean with the half
/// width of its interval, "." where a score has no value, and marks of the tests, which the lines
/// below the table explain.
std::string score_table_text(const explain::ScoredRuns& scored,
                             const std::vector<explain::ScoreRow>& rows, bool markdown);

/// Writes scores.json (settings, and every row with its intervals and tests), scores.csv (a line
/// for each run, method, seed of random and sample), scores.md (the tables), and curves.png where a
/// score has curves. `settings`: what was asked for. Returns their names.
std::vector<std::string> write_explanation_scores(const std::filesystem::path& folder,
                                                  const explain::ScoredRuns& scored,
                                                  const std::vector<explain::ScoreRow>& rows,
                                                  const schema::Value& settings);

}  // namespace fovea::experiment
