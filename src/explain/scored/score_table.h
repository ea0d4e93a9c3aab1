// The table of scored explanations: every method against random relevance and against the first
// one. explain B.11.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/scored/scored_runs.h"
#include "explain/scores/against_random.h"

namespace fovea::explain {

/// One method on one score. Tests are adjusted over the rows of the score (Holm).
struct ScoreCell {
  metrics::Estimate value;  // over the samples where it is defined
  /// Against random relevance of the same run; nothing for that itself, and for scores without a
  /// direction.
  std::optional<AgainstRandom> random = {};
  std::optional<AgainstRandom> first = {};  // against the first row; nothing as above
};

struct ScoreRow {
  std::size_t run = 0;  // of ScoredRuns::runs
  std::string method;   // "random": the mean over its seeds
  std::vector<ScoreCell> cells;
};

/// The mean of a curve over samples, with the half width of its interval of 95 %.
struct MeanCurve {
  std::vector<double> shares, mean, half_width;

  /// Adds a point, the estimate of its values.
  void add(const std::vector<double>& at_share);
};

/// The rows of a run stand together, its methods in order, then random.
std::vector<ScoreRow> score_table(const ScoredRuns& scored);

/// The values of a row on a score, one for each sample; those of random are means over its seeds.
std::vector<double> values_of(const ScoredRuns& scored, const ScoreRow& row, std::size_t score);

/// Nothing for a score without curves, and where samples differ in their units.
std::optional<MeanCurve> mean_curve(const ScoredRuns& scored, const ScoreRow& row,
                                    std::size_t score);

}  // namespace fovea::explain
