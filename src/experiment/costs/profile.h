// Where the time of a step goes, by operation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/peaks.h"
#include "experiment/file/experiment.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// One operation, forward or backward, over all profiled steps. An operation's multiply-adds are
/// those of its definition; backward counts a product for the gradient of each operand, and what it
/// computes again: an attention's scores.
struct ProfileRow {
  std::string op;
  bool backward = false;
  double ms_per_step = 0;
  double share = 0;  // of the whole time
  std::int64_t calls_per_step = 0;
  std::int64_t macs_per_step = 0;
  std::int64_t bytes_per_step = 0;    // moved at least (autograd::Event)
  std::int64_t numbers_per_step = 0;  // that are written
  // With peaks:
  std::string limit = {};   // what most of the least time comes from (Limit)
  double least_ms = 0;      // of a step
  double lost_ms() const {  // beyond the least time
    return ms_per_step > least_ms ? ms_per_step - least_ms : 0;
  }
};

/// Runs `step` a few times and measures its operations; the largest share comes first. One row is
/// for what no operation accounts for. With `peaks` rows have limits.
std::vector<ProfileRow> profile(const std::function<void()>& step, const Peaks* peaks = nullptr,
                                int steps = 3);

/// With limits: `limit`, `limit_share` (of the limit that is reached) and `lost_ms`.
schema::Value to_json(const std::vector<ProfileRow>& rows);
/// A table for people.
std::string to_text(const std::vector<ProfileRow>& rows);

/// All rows as one: what of the limit a whole step reaches.
ProfileRow total_of(const std::vector<ProfileRow>& rows);
/// A table of the limits, most time lost first; the last row is the whole step.
std::string limits_text(const std::vector<ProfileRow>& rows);

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
