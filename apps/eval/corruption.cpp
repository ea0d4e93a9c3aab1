#include "eval/corruption.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/suggest.h"
#include "common/app.h"
#include "training/run_state.h"

namespace fovea::apps {

using schema::Value;

namespace {

// The metric for every type and level, means and retention (dgsa section 8).
Value corruption_report(const Score& score, const training::NoiseGrid& grid, bool show) {
  Value report = Value::object();
  Value types = Value::object();
  double total = 0;
  if (show) {
    fmt::print("\n{:<15}", score.title);
    for (const double level : grid.levels) fmt::print("{:>8}", fmt::format("{:g}", level));
    fmt::print("{:>9}\n", "mean");
  }
  for (const std::string& type : grid.types) {
    Value by_level = Value::object();
    double sum = 0;
    if (show) fmt::print("{:<15}", type);
    for (const double level : grid.levels) {
      const double accuracy = metric_of(score.evaluate({type, level}), score.metric);
      training::set_number(by_level, fmt::format("{:g}", level), accuracy);
      sum += accuracy;
      if (show) {
        fmt::print("{:>8.2f}", accuracy);
        std::cout.flush();
      }
      FOVEA_CHECK(!stop_requested(), Interrupted, "stopped; nothing was written");
    }
    const double mean = sum / static_cast<double>(grid.levels.size());
    training::set_number(by_level, "mean", mean);
    if (show) fmt::print("{:>9.2f}\n", mean);
    types.set(type, by_level);
    total += mean;
  }
  const double mean = total / static_cast<double>(grid.types.size());
  report.set(score.metric, types);
  training::set_number(report, "mean_" + score.metric, mean);
  training::set_number(report, "retention", mean / score.clean);
  if (show)
    fmt::print("{:<15}{:.2f} % corrupted, {:.2f} % clean, retention {:.3f}\n", "mean", mean,
               score.clean, mean / score.clean);
  return report;
}

}  // namespace

training::NoiseGrid noise_grid(const EvalArguments& args, const training::BatchSource& data) {
  if (args.no_noise) return {};
  training::NoiseGrid grid = data.noise_grid();
  if (!args.noise.empty()) {
    const bool all = args.noise.size() == 1 && args.noise[0] == "all";
    grid.types = all ? data.noise_types() : args.noise;
    if (grid.levels.empty()) grid.levels = {0.1, 0.2, 0.3, 0.4, 0.5};
  }
  if (!args.levels.empty()) grid.levels = args.levels;
  const auto known = data.noise_types();
  for (const std::string& type : grid.types) {
    FOVEA_CHECK(std::find(known.begin(), known.end(), type) != known.end(), ConfigError,
                fmt::format("--noise {}: no corruption of that name{} known: {}", type,
                            did_you_mean(type, known), fmt::join(known, ", ")));
  }
  return grid;
}

void add_corruption(const Job& job, const Score& score, Value& result) {
  if (job.grid.empty()) return;
  result.set("corruption", corruption_report(score, job.grid, !job.json));
}

}  // namespace fovea::apps
