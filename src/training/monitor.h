// The metric that decides which weights are best.
#pragma once

#include <string>
#include <vector>

#include "training/options.h"

namespace fovea::training {

/// What a run of a task with these metrics measures on each split, averaged weights included.
std::vector<std::string> measured(const TrainOptions& options, std::vector<std::string> of_task);

/// Throws ConfigError with the nearest name if train.monitor is not measured.
void check_monitor(const TrainOptions& options, const std::vector<std::string>& of_task);

}  // namespace fovea::training
