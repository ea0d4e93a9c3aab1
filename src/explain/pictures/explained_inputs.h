// Inside of explained_runs.cpp: what methods say of an input, and the numbers of all of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explain/pictures/explained_runs.h"
#include "visualise/maps/heat_scale.h"

namespace fovea::explain {

/// What a method says of one input of a run.
struct ExplainedInput {
  std::string input, predicted, target;  // names
  double probability = 0;                // of the target, by softmax over the scores
  std::vector<std::string> words = {};   // of texts
  std::vector<Explanation> found = {};   // one for each method
};

/// All inputs of one run.
using ExplainedRun = std::vector<ExplainedInput>;

/// Asks every method about the first sample of a subject, whose noise and masks come from `random`.
/// Notes a class that no pixel has, and maps that are 0 everywhere.
ExplainedInput explain_one(const ExplainedRuns& asked, const visualise::ShownRun& run,
                           const Subject& subject, const std::string& name,
                           std::optional<std::int64_t> label, const RandomStream& random);

/// A line for an input, and one for each gap of completeness.
void say_explained(const ExplainedRuns& asked, const visualise::ShownRun& run,
                   const ExplainedInput& one);

visualise::Quantity quantity_of(const Explanation& found);

/// Writes relevance.csv, explained.csv and maps.safetensors, with `metadata` of more than the
/// weights; returns their names. A map of more than 65536 places has no lines in relevance.csv,
/// which is noted.
std::vector<std::string> write_numbers(const ExplainedRuns& asked,
                                       const std::vector<ExplainedRun>& all,
                                       const std::map<std::string, std::string>& metadata = {});

}  // namespace fovea::explain
