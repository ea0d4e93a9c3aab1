// What finished runs say of themselves that a reader of their table must know.
#pragma once

#include <string>
#include <vector>

#include "experiment/run/run_folder.h"
#include "experiment/sweep/ablation.h"

namespace fovea::experiment {

struct FinishedRun {
  const Job* job;
  RunSummary summary;
};

/// Whether the weights were selected on the test part, whether rows on one data set read different
/// data, whether different programs made the runs: one sentence for each, with the rows it is true
/// of.
std::vector<std::string> remarks_on(const Ablation& ablation, const std::vector<FinishedRun>& runs);

}  // namespace fovea::experiment
