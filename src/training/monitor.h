// The metric that decides which weights are best, and the metrics of averaged weights.
#pragma once

#include <string>
#include <vector>

#include "metrics/metric_info.h"
#include "training/options.h"

namespace fovea::training {

/// A metric as it is called where it is measured on averaged weights (train.ema_decay).
metrics::MetricInfo of_averages(metrics::MetricInfo metric);
/// Whether a name is that of a metric of averaged weights.
bool is_of_averages(const std::string& metric);

/// What a run of a task with these metrics measures on each split, averaged weights included.
std::vector<metrics::MetricInfo> measured(const TrainOptions& options,
                                          const std::vector<metrics::MetricInfo>& of_task);

/// The metric that the options choose among those of a task, whose own is `own`, with the direction
/// that counts. Throws ConfigError with the nearest name if train.monitor is not measured.
metrics::MetricInfo monitor_of(const TrainOptions& options,
                               const std::vector<metrics::MetricInfo>& of_task,
                               const metrics::MetricInfo& own);

}  // namespace fovea::training
