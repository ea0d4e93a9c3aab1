// How a row falls short of what was planned or published, so that a table never hides it: fewer
// epochs, samples or seeds, a backbone that is not pretrained, and what the command line set.
#pragma once

#include <string>
#include <vector>

#include "experiment/tables/published.h"
#include "schema/json/value.h"

namespace fovea::experiment {

struct RowPlan {
  schema::Value config;   // as it is trained
  schema::Value planned;  // without the command line; null if it is no experiment then
  std::vector<std::int64_t> seeds;
  std::vector<std::int64_t> planned_seeds;
  std::vector<std::string> set;  // "train.epochs=12": those of the command line that matter
  Protocol published;            // of the numbers beside the row
};

/// `12 of 300 epochs`, `1,000 of 50,000 training samples`, `1 of 3 seeds`, `--set train.epochs=12`;
/// empty if nothing was changed. What the publication states counts before the ablation's own plan.
std::vector<std::string> changes_of(const RowPlan& row);

}  // namespace fovea::experiment
