// results.json of `eval`: what was measured on one set of weights, gathered over several calls.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nn/module.h"
#include "schema/value.h"

namespace fovea::experiment {

/// 16 hexadecimal digits of all parameters and buffers, names and bytes.
std::string weights_hash(nn::Module& model);

/// What numbers belong to; only numbers of one subject stand in one file.
struct EvalSubject {
  std::string weights;                 // weights_hash
  std::vector<std::string> overrides;  // of the run's configuration
};

/// Writes `folder`/results.json and returns it. `fresh` has "metrics", "samples" and, where noise
/// was asked for, "corruption": {metric: {type: {level: value}}}. Its numbers replace those of the
/// same metric, type and level; other noise scores of the same subject and number of samples, of
/// this folder, stay. Means and retention are those of all that then stands there. Results of
/// another subject are moved to results-<their hash>.json, from where they come back when that is
/// scored again. Throws FileError.
schema::Value write_eval_results(const std::filesystem::path& folder, schema::Value fresh,
                                 const EvalSubject& subject);

}  // namespace fovea::experiment
