// Scores under noise: a table of types and levels, their means, and what is left of the clean
// score.
#pragma once

#include <functional>
#include <string>

#include "eval/job.h"

namespace fovea::apps {

/// The types and levels asked for, or those of the experiment, or none. Throws ConfigError.
training::NoiseGrid noise_grid(const EvalArguments& args, const training::BatchSource& data);

/// What is reported under corruption: a metric of the task, and how to get it.
struct Score {
  std::string metric;  // "top1"
  std::string title;   // "top-1 in %"
  double clean = 0;
  std::function<training::Metrics(const training::NoiseLevel&)> evaluate;
};

/// Sets "corruption" if any noise is asked for; also prints it. dgsa section 8.
void add_corruption(const Job& job, const Score& score, schema::Value& result);

}  // namespace fovea::apps
