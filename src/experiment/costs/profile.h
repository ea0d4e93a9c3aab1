// Where the time of a step goes, by operation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiment/file/experiment.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// One operation, forward or backward, over all profiled steps. An operation's multiply-adds are
/// those of its definition; backward counts twice the forward's.
struct ProfileRow {
  std::string op;
  bool backward = false;
  double ms_per_step = 0;
  double share = 0;  // of the whole time
  std::int64_t calls_per_step = 0;
  std::int64_t macs_per_step = 0;
};

/// Runs `step` a few times and measures its operations; the largest share comes first. One row is
/// for what no operation accounts for: the optimiser and bookkeeping.
std::vector<ProfileRow> profile(const std::function<void()>& step, int steps = 3);

schema::Value to_json(const std::vector<ProfileRow>& rows);
/// A table for people.
std::string to_text(const std::vector<ProfileRow>& rows);

/// Where time and memory of an experiment's training step go.
struct StepProfile {
  std::vector<ProfileRow> rows;
  double ms_per_step = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t gradient_bytes = 0;
  std::int64_t optimiser_bytes = 0;  // its state
  std::int64_t saved_bytes = 0;      // what the forward pass keeps for the backward pass
  std::int64_t peak_bytes = 0;
};

/// Forward, loss (cross-entropy, or BCE + Dice), backward and update on random inputs of the
/// experiment's batch size; no data set is read.
StepProfile profile_step(const Experiment& experiment, const Device& device);
schema::Value to_json(const StepProfile& profile);
std::string to_text(const StepProfile& profile);

}  // namespace fovea::experiment
