#include "training/monitor.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/suggest.h"
#include "metrics/cases.h"
#include "metrics/classes/class_score.h"

namespace fovea::training {
namespace {

using metrics::MetricInfo;

constexpr const char* kOfAverages = "ema_";

[[noreturn]] void refuse(const TrainOptions& options, const std::vector<MetricInfo>& known) {
  std::vector<std::string> names;
  for (const MetricInfo& metric : known) names.push_back(metric.name);
  const bool averaged = is_of_averages(options.monitor) && options.ema_decay == 0;
  const bool optional = metrics::find_class_score(options.monitor) != nullptr ||
                        metrics::find_metric(metrics::case_metrics(), options.monitor) != nullptr;
  throw ConfigError(fmt::format("train.monitor: no metric called \"{}\"{} (known: {}{}{})",
                                options.monitor, did_you_mean(options.monitor, names),
                                fmt::join(names, ", "),
                                averaged ? "; averaged weights need train.ema_decay" : "",
                                optional ? "; name it in eval.metrics too" : ""));
}

}  // namespace

MetricInfo of_averages(MetricInfo metric) {
  metric.name.insert(0, kOfAverages);
  for (std::string& alias : metric.aliases) alias.insert(0, kOfAverages);
  return metric;
}

bool is_of_averages(const std::string& metric) { return metric.starts_with(kOfAverages); }

std::vector<MetricInfo> measured(const TrainOptions& options,
                                 const std::vector<MetricInfo>& of_task) {
  std::vector<MetricInfo> all = of_task;
  if (options.ema_decay == 0) return all;
  for (const MetricInfo& metric : of_task) all.push_back(of_averages(metric));
  return all;
}

MetricInfo monitor_of(const TrainOptions& options, const std::vector<MetricInfo>& of_task,
                      const MetricInfo& own) {
  MetricInfo monitor = own;
  if (!options.monitor.empty()) {
    const std::vector<MetricInfo> known = measured(options, of_task);
    const auto found = metrics::named_metric(known, options.monitor);
    if (!found) refuse(options, known);
    monitor = *found;
  }
  if (options.monitor_mode != MonitorMode::kAuto)
    monitor.larger_is_better = options.monitor_mode == MonitorMode::kMax;
  return monitor;
}

}  // namespace fovea::training
