// Scores of explanations over runs that differ by their seed or fold alone: claims about networks
// come from those, intervals over samples speak of the weights of one run.
#pragma once

#include <cstddef>
#include <optional>
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
  std::vector<std::size_t> runs;  // of ScoredRuns::runs, by what was drawn for each
  std::vector<ScoreCell> cells;
};

/// Rows as in score_table(), those of a configuration together. Nothing unless a configuration has
/// several runs.
std::vector<SeedRow> over_seeds(const ScoredRuns& scored, const std::vector<ScoreRow>& rows);

/// The mean of the curves of a row's runs, with the half width of its interval over them. Nothing
/// where one of them has none, or they differ in their units.
std::optional<MeanCurve> mean_curve(const ScoredRuns& scored, const SeedRow& row,
                                    std::size_t score);

}  // namespace fovea::explain
