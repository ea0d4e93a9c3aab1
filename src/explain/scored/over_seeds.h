// Scores of explanations over runs that differ by their seed or fold alone: claims about networks
// come from those, intervals over samples speak of the weights of one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/scored/score_table.h"

namespace fovea::explain {

/// A method on the runs of one configuration. A value of a cell is that of a run, its mean over
/// samples; `random` compares with random relevance of the same run, `first` with the same method
/// on the run of the first configuration with the same draw. Tests are adjusted over the rows of a
/// score (Holm).
struct SeedRow {
  std::string configuration, method;
  std::int64_t runs = 0;
  std::vector<ScoreCell> cells;
};

/// Rows as in score_table(), those of a configuration together. Nothing unless a configuration has
/// several runs.
std::vector<SeedRow> over_seeds(const ScoredRuns& scored, const std::vector<ScoreRow>& rows);

}  // namespace fovea::explain
