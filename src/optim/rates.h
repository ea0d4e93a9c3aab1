// A summary of the learning rates of a run, shown before it begins.
#pragma once

#include <cstdint>
#include <string>

#include "optim/optimiser.h"
#include "optim/schedule.h"

namespace fovea::optim {

/// A summary of the rates of a run's steps (at least one).
struct RateSummary {
  double first = 0, first_epoch_end = 0;  // of the first and the last step of epoch 1
  double highest = 0;
  std::int64_t highest_step = 1;  // the first step with this rate, counted from 1
  double last = 0;
  std::int64_t zero_steps = 0;  // with rate 0
};
RateSummary summarise_rates(const Schedule& schedule, const RunLength& run);

/// "epoch 1: 0 to 0.0008, highest 0.001 in step 501 of 2400 (epoch 6), last 0; 0 in 2 steps".
std::string rates_text(const Schedule& schedule, const RunLength& run);

/// "learning rates are 0.02376 (cls_token) to 1 (head.weight) times that of the schedule", or ""
/// where all parameters have the same.
std::string scales_text(const Optimiser& optimiser);

/// A warning about epochs at the beginning in which all rates are 0; "" where there are none.
/// Throws ConfigError if no step of a run has another rate, though its base rate is not 0.
std::string check_rates(const Schedule& schedule, const RunLength& run);

}  // namespace fovea::optim
