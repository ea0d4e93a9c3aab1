// Methods of explanation scored on the samples of runs, and random relevance beside them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/augment/noise.h"
#include "explain/scored/asked_scores.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::explain {

struct ScoreRequest {
  std::vector<visualise::ShownRun> runs;
  std::vector<std::string> methods;  // none: usual_methods() that are defined for all runs
  std::vector<std::string> scores;   // or "all"
  std::vector<std::string> options;  // of both: "deletion.step=2"
  /// The class that is explained, as target_of().
  std::string target = "predicted";
  std::int64_t limit = 100;  // samples, spread evenly over the split
  /// A corruption of every image; it is the same for all runs.
  std::optional<data::NoiseLevel> noise = {};
  std::uint64_t seed = 1;
  std::int64_t random_seeds = 5;
  std::int64_t batch_size = 128;  // inputs in a pass
  std::function<void(const std::string&)> note = [](const std::string&) {};
  /// After each of `total` explanations that are scored.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
  std::function<bool()> stop = [] { return false; };  // asked before each
};

/// The methods that are scored where none is named.
const std::vector<std::string>& usual_methods();

/// The scores of a method, or of one seed of random relevance, on all samples of a run.
struct ScoredRow {
  std::string method;
  std::vector<std::vector<double>> values;  // [score][sample], NaN where it is not defined
  std::vector<std::vector<Scored>> curves;  // [score][sample]; of scores without a curve none
};

struct ScoredRun {
  std::string name, title, weights;
  visualise::Configuration configuration = {};
  std::vector<std::string> targets;  // names of the explained classes, for each sample
  std::vector<ScoredRow> methods, random;
};

struct ScoredRuns {
  std::vector<AskedScore> scores;
  std::string split;
  std::int64_t available = 0;  // samples of the split
  std::optional<data::NoiseLevel> noise = {};
  std::vector<std::string> samples;  // those that were looked at, by their names
  std::vector<ScoredRun> runs;
};

/// Throws ConfigError, naming the run, for runs of different kinds or samples, and for methods and
/// scores that are not defined for one, and for noise that its images have not; Interrupted where
/// it is stopped.
ScoredRuns score_runs(const ScoreRequest& asked);

}  // namespace fovea::explain
