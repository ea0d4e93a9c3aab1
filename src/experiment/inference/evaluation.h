// What `eval` does: scores a network on one part of its data, clean and under noise, writes what
// the task reports, and keeps the numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/inference/eval_results.h"
#include "experiment/inference/interventions.h"
#include "experiment/reports/report_files.h"
#include "experiment/run/open_run.h"

namespace fovea::experiment {

struct EvalRequest {
  std::vector<std::string> runs;  // what is scored, for the record
  ReportSettings report;
  training::NoiseGrid noise;
  std::vector<std::string> overrides;  // of the run's configuration
  Interventions interventions = {};    // in networks and inputs
};

/// Told what comes out while it does.
class EvalObserver {
 public:
  virtual ~EvalObserver() = default;
  /// What a user should know before anything is scored.
  virtual void noted(const std::string& /*note*/) {}
  /// Of several runs, what each gives by itself, in their order.
  virtual void member_scored(const training::Metrics& /*metrics*/) {}
  /// The clean scores are there, and these files that were asked for.
  virtual void reported(const training::Report& /*report*/,
                        const std::vector<std::string>& /*saved*/) {}
  /// The main metric in one condition, in the order of the grid: every level of a type, then the
  /// next type. May throw to end it; nothing is kept then.
  virtual void scored(const NoiseScore& /*score*/) {}
};

/// What is to be said where a run's data have changed since its weights were trained, by their
/// content; nothing where they have not, or where it is unknown.
std::optional<std::string> other_data(const schema::Value& trained, const schema::Value& now);

/// Writes the task's report (ReportFiles), cases.csv with the metrics that have a value for every
/// sample, and results.json, which it returns. Of several runs everything is of the mean of their
/// probabilities, and "members" of results.json has the metrics of each. After interventions
/// "interventions" says what was changed. Throws ConfigError for
/// several that do not predict the same classes of the same samples, and with noise.
schema::Value evaluate(const std::vector<Opened>& opened, const EvalRequest& request,
                       EvalObserver& observer);

/// The types and levels of noise that are asked for: of every type if `types` is {"all"}, of those
/// of the experiment if it is empty. Throws ConfigError for an unknown type.
training::NoiseGrid noise_grid(const training::BatchSource& data,
                               const std::vector<std::string>& types,
                               const std::vector<double>& levels);

}  // namespace fovea::experiment
