// results.json of `eval`: what was measured on one set of weights, gathered over several calls.
//
//   "dataset", "split"    what all numbers of the file are of
//   "metrics"             name to value, without noise
//   "noise"               [{"metric", "type", "level", "value"}]: every metric in every condition
//   "robustness"          of the task's main metric: {"metric", "unit", "decimals",
//                         "larger_is_better", "by_type" {type: mean over levels}, "mean",
//                         "retention" (mean / clean, where less is better clean / mean)}
//   "cases"               {"index": [sample], metric: [its value for each sample]}
//   "volumes"             {"name": [volume], metric: [its value for each volume]}: of slices
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metrics/metric_info.h"
#include "nn/module.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// 16 hexadecimal digits of all parameters and buffers, names and bytes.
std::string weights_hash(nn::Module& model);

/// One number under noise.
struct NoiseScore {
  std::string metric;
  std::string type;
  double level = 0;
  double value = 0;
};

/// One metric: its means over the levels of each type, in the order of their appearance; the mean
/// of these; and the part of the clean score that is left, metrics::retention() (dgsa section 8).
struct NoiseMeans {
  std::vector<std::pair<std::string, double>> by_type;
  double mean = 0;
  double retention = 0;
};
NoiseMeans noise_means(const std::vector<NoiseScore>& scores, const metrics::MetricInfo& metric,
                       double clean);

/// What numbers belong to; only numbers of one subject stand in one file.
struct EvalSubject {
  std::string weights;                 // weights_hash
  std::vector<std::string> overrides;  // of the run's configuration
};

/// Writes `folder`/results.json and returns it. `fresh` has "dataset", "split", "samples" and
/// "metrics"; `main` is the metric that "robustness" is about. The scores under noise replace those
/// of the same metric, type and level; others of the same subject and number of samples, of this
/// folder, stay. Results of another subject are moved to results-<their hash>.json, from where they
/// come back when that is scored again. Throws FileError.
schema::Value write_eval_results(const std::filesystem::path& folder, schema::Value fresh,
                                 const std::vector<NoiseScore>& noise,
                                 const metrics::MetricInfo& main, const EvalSubject& subject);

/// A metric of one set of weights with its value for every case: a sample, or a volume.
struct CaseScores {
  std::string data;                   // hash of the content of the data; "" if unknown
  std::vector<std::int64_t> indices;  // of samples in their split
  std::vector<std::string> volumes;   // else their names
  std::vector<double> values;         // NaN where it is undefined
  double value = 0;                   // the metric

  bool same_cases(const CaseScores& other) const {
    return indices == other.indices && volumes == other.volumes && !data.empty() &&
           data == other.data;
  }
};
/// The same from the results in a folder; nothing where there are none, or none of that metric.
std::optional<CaseScores> read_case_scores(const std::filesystem::path& folder,
                                           const std::string& metric);

}  // namespace fovea::experiment
