// What can be known to be wrong with an experiment before anything is trained: its data, the shapes
// of its network, the names of its metrics, the memory of a step. The network is built on the meta
// device, so this takes about as long as opening the data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiment/run/open_data.h"
#include "experiment/run/run_folder.h"
#include "experiment/sweep/sweep.h"

namespace fovea::experiment {

struct Preflight {
  std::vector<std::string> problems;
  std::vector<std::string> columns;  // that results will have, "test_top1"; none where a problem
                                     // hides them
  std::int64_t peak_bytes = 0;       // of a training step on the host; 0 where unknown
  std::string rates;                 // learning rates of the run in a line; "" where unknown
};
Preflight look_ahead(const schema::Value& resolved, OpenData& data);

/// Complains if a step needs more than `memory` bytes (0: unknown); "" if not.
std::string memory_problem(const Preflight& run, std::int64_t memory);

/// Looks ahead at every row of a sweep that has jobs to run, and tells the learning rates of those:
/// `learning rate: epoch 1: ... (3 of 5 rows: A, B, C)`, one line for rows that have the same.
/// Throws RowErrors with everything that is wrong with any of them.
std::vector<std::string> check_sweep(const Ablation& ablation, const SweepOptions& options,
                                     std::int64_t memory);

/// The same for one experiment.
void check_experiment(const schema::Value& resolved, std::int64_t memory);

}  // namespace fovea::experiment
