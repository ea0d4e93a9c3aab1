#include "training/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "training/monitor.h"

namespace fovea::training {
namespace {

using data::Split;

// Settings without an effect where nothing is monitored.
std::vector<std::string> idle_settings(const TrainOptions& o) {
  std::vector<std::string> names;
  if (o.select == Select::kBest) names.emplace_back("train.select=best");
  if (o.patience > 0) names.push_back(fmt::format("train.patience={}", o.patience));
  if (!o.monitor.empty()) names.push_back("train.monitor=" + o.monitor);
  if (o.monitor_mode != MonitorMode::kAuto) names.emplace_back("train.monitor_mode");
  if (o.monitor_averages) names.emplace_back("train.monitor_averages");
  if (o.min_delta > 0) names.push_back(fmt::format("train.min_delta={}", o.min_delta));
  return names;
}

}  // namespace

data::Split reported_part(const std::vector<data::Split>& parts) {
  const bool test = std::find(parts.begin(), parts.end(), Split::kTest) != parts.end();
  return test ? Split::kTest : parts.front();
}

Selection select(const std::vector<data::Split>& parts, const metrics::MetricInfo& monitor,
                 const TrainOptions& options) {
  const auto has = [&](Split part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  FOVEA_CHECK(options.select_on != SelectOn::kVal || has(Split::kVal), ConfigError,
              "train.select_on: \"val\", but the data set has no validation part; make one with "
              "dataset.split.val");
  FOVEA_CHECK(options.select_on != SelectOn::kTest || has(Split::kTest), ConfigError,
              "train.select_on: \"test\", but the data set has no test part");
  Selection selection;
  if (options.select_on == SelectOn::kTest) {
    selection.on = Split::kTest;
  } else if (has(Split::kVal)) {
    selection.on = Split::kVal;
  }
  if (!selection.monitored()) {
    const std::vector<std::string> idle = idle_settings(options);
    FOVEA_CHECK(idle.empty(), ConfigError,
                fmt::format("{}: the data set has no validation part to select on; make one with "
                            "dataset.split.val, or set train.select_on=test to select on the test "
                            "part and have the results say so",
                            fmt::join(idle, ", ")));
  }
  selection.monitor = monitor;
  selection.candidates = {monitor.name};
  if (options.monitor_averages) {
    FOVEA_CHECK(options.ema_decay > 0 && !is_of_averages(monitor.name), ConfigError,
                fmt::format("train.monitor_averages: compares {} with that of averaged weights; it "
                            "needs train.ema_decay, and a monitor that is not of averages",
                            monitor.name));
    selection.candidates.push_back(of_averages(monitor).name);
  }
  selection.best = selection.monitored() && options.select != Select::kLast;
  selection.stops = options.patience > 0;
  selection.reported = reported_part(parts);
  // A test part that chooses nothing beside a validation part is looked at once, at the end.
  selection.during = {selection.on.value_or(selection.reported)};
  if (selection.on == Split::kTest && has(Split::kVal)) selection.during.push_back(Split::kVal);
  return selection;
}

std::string choice_text(const Selection& selection) {
  if (!selection.monitored()) return "last; nothing selects: the data set has no validation part";
  const std::string what =
      fmt::format("the {} {} {}", selection.monitor.larger_is_better ? "highest" : "lowest",
                  data::name_of(*selection.on), fmt::join(selection.candidates, " or "));
  return selection.best ? "best, by " + what : "last; " + what + " is kept as checkpoints/best";
}

std::string weights_text(const schema::Value& summary) {
  const schema::Value* on = summary.find("selected_on");
  const std::string selected = on == nullptr || on->is_null() ? std::string("nothing was selected")
                                                              : "selected on " + on->as_string();
  if (summary.at("weights").as_string() == "last") {
    // Early stopping selects the step at which training ends.
    return fmt::format("last weights, of step {} (epoch {}); {}", summary.at("steps").as_int(),
                       summary.at("epochs").as_int(), selected);
  }
  const schema::Value& best = summary.at("best");
  const bool from_one = summary.find("epochs_from") != nullptr;  // older programs: from 0
  return fmt::format("best weights, of step {} (epoch {}) by {} {} {:.4g}; {}",
                     best.at("step").as_int(), best.at("epoch").as_int() + (from_one ? 0 : 1),
                     best.at("split").as_string(), best.at("metric").as_string(),
                     best.at("value").as_double(), selected);
}

}  // namespace fovea::training
