// What does not fit here is calculated: step time, memory and efficiency of a training run on more
// ranks (docs/forecast.md has the formulas and what they were compared with).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiment/file/experiment.h"
#include "experiment/forecast/network.h"
#include "experiment/forecast/settings.h"
#include "experiment/forecast/step_costs.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// A step on one number of ranks.
struct RanksForecast {
  std::int64_t ranks = 1;
  std::int64_t micro_batches = 1;  // of a step of all ranks: train.grad_accum_steps
  std::int64_t rounds = 1;         // how many of them the busiest rank makes
  double samples = 0;              // of a step
  double compute_s = 0;            // seconds forward and backward
  double update_s = 0;             // of the optimiser
  SumCosts sum;                    // of the gradients
  double hidden_s = 0;             // of the network behind the backward pass
  double step_s = 0;               // compute + sum - hidden + update
  double samples_per_s = 0;
  double efficiency = 1;    // of a rank, relative to one rank alone
  double memory_bytes = 0;  // of a rank's device
  double host_bytes = 0;    // of a rank's memory of the host, for the sum
  bool fits = true;         // in the memory of the card, where that is known
  std::string limit;        // what takes most of the step: compute, network, copies, update
};

/// For 1, 2, 4, ... ranks and the most that are asked for. Throws ConfigError where a step has no
/// micro-batch for every rank.
std::vector<RanksForecast> forecast(const StepCosts& costs, const ForecastSettings& settings);

/// One object: what the forecast is made of, and a list of rows.
schema::Value to_json(const Experiment& experiment, const StepCosts& costs,
                      const ForecastSettings& settings, const std::vector<RanksForecast>& rows);
/// A table and what it rests on, for people.
std::string to_text(const StepCosts& costs, const ForecastSettings& settings,
                    const std::vector<RanksForecast>& rows);

}  // namespace fovea::experiment
