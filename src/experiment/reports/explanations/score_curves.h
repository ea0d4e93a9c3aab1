// Curves of deletion, insertion and perturbation as a picture.
#pragma once

#include <filesystem>
#include <vector>

#include "explain/scored/over_seeds.h"
#include "explain/scored/score_table.h"

namespace fovea::experiment {

/// A plot for each run and score that has curves: the mean over samples of each method over the
/// share of changed units, with its interval of 95 % as a band. Where there are configurations with
/// several runs, a plot for each configuration instead, mean and interval over its runs. Several
/// plots share a legend below them. False where there is nothing to be drawn.
bool write_score_curves(const std::filesystem::path& path, const explain::ScoredRuns& scored,
                        const std::vector<explain::ScoreRow>& rows,
                        const std::vector<explain::SeedRow>& over_seeds);

}  // namespace fovea::experiment
