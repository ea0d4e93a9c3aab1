// Scores of explanations as files and as a table for the terminal.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "explain/scored/over_seeds.h"
#include "explain/scored/score_table.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// What the files and the terminal tell.
struct ScoredTables {
  std::vector<explain::ScoreRow> rows;
  std::vector<explain::SeedRow> over_seeds;
};
ScoredTables scored_tables(const explain::ScoredRuns& scored);

/// Rows are methods, of several runs with their names; columns are scores: the mean with the half
/// width of its interval, "." where a score has no value, and marks of the tests, which the lines
/// below the table explain. Below that a table over seeds, where there are runs that differ by
/// them.
std::string score_table_text(const explain::ScoredRuns& scored, const ScoredTables& tables,
                             bool markdown);

/// Writes scores.json (settings, and every row with its intervals and tests), scores.csv (a line
/// for each run, method, seed of random and sample), scores.md (the tables), and curves.png where a
/// score has curves. `settings`: what was asked for. Returns their names.
std::vector<std::string> write_explanation_scores(const std::filesystem::path& folder,
                                                  const explain::ScoredRuns& scored,
                                                  const ScoredTables& tables,
                                                  const schema::Value& settings);

}  // namespace fovea::experiment
