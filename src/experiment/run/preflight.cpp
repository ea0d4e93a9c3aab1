#include "experiment/run/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "backend/devices.h"
#include "base/error.h"
#include "base/suggest.h"
#include "experiment/costs/costs.h"
#include "experiment/costs/training_step.h"
#include "experiment/file/folds.h"
#include "experiment/run/runner.h"
#include "experiment/run/summary.h"
#include "experiment/tables/metric_column.h"
#include "experiment/tables/row_errors.h"
#include "training/monitor.h"
#include "training/tasks/task_registry.h"

namespace fovea::experiment {
namespace {

class Look {
 public:
  Look(const schema::Value& resolved, OpenData& data)
      : resolved_(resolved), data_(data), experiment_(parse(resolved)) {}

  Preflight run() {
    attempt([&] { make_device(experiment_.train.device, experiment_.train.device_settings(1)); });
    std::unique_ptr<Run> run;
    attempt([&] {
      RunOptions options;
      options.device = make_meta();
      options.threads = 1;
      options.data = &data_;
      run = std::make_unique<Run>(resolved_, options);
    });
    if (run != nullptr) {
      attempt([&] { measure(*run); });
      attempt([&] { step(run->shape()); });
    } else {
      // The data or the network: what the other one would say is worth knowing, too.
      attempt([&] { step(data_shape(experiment_)); });
      attempt([&] { check_monitor(); });
    }
    return std::move(found_);
  }

 private:
  void attempt(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      const std::string message = error.what();
      auto& all = found_.problems;
      if (std::find(all.begin(), all.end(), message) == all.end()) all.push_back(message);
    }
  }

  void check_monitor() const {
    const training::TaskEntry& task = training::tasks().find(experiment_.task);
    training::monitor_of(experiment_.train, task.metrics(data_shape(experiment_)), metrics::kLoss);
  }

  // Everything the loop would complain about, and what it would measure.
  void measure(Run& run) {
    run.check();
    if (!experiment_.cost_img_size.empty()) count_costs(experiment_, run.shape());
    found_.rates = run.rates_text();
    const training::Task& task = run.task();
    for (const data::Split part : task.source().parts()) {
      for (const auto& metric : training::measured(experiment_.train, task.metrics()))
        found_.columns.push_back(column_name({std::string(data::name_of(part)), metric.name}));
    }
  }

  void step(const models::DataShape& shape) {
    const std::int64_t peak = step_peak_bytes(experiment_, shape);
    if (experiment_.train.device == "cpu") found_.peak_bytes = peak;
  }

  const schema::Value& resolved_;
  OpenData& data_;
  Experiment experiment_;
  Preflight found_;
};

// Rows with jobs that are to be run.
std::set<std::size_t> rows_to_run(const Ablation& ablation, const SweepOptions& options) {
  std::set<std::size_t> rows;
  for (const Job* job : chosen_jobs(ablation, options)) {
    const JobState state = status_of(ablation, options.out, *job).state;
    const bool left_alone = state == JobState::kFailed && !options.retry_failed;
    if (state != JobState::kFinished && !left_alone) rows.insert(job->row);
  }
  return rows;
}

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// By today's name or an older one; classes that only the data name are taken on trust.
bool is_measured(const std::vector<std::string>& names, const std::string& name,
                 const std::vector<Column>& known) {
  const std::string current = column_called(name, known).name;
  return is_in(names, current) ||
         std::any_of(names.begin(), names.end(), [&](const std::string& one) {
           const std::size_t place = one.find('*');
           return place != std::string::npos && current.starts_with(one.substr(0, place));
         });
}

std::string unknown_metric(const std::string& key, const std::string& name,
                           const std::vector<std::string>& known) {
  return fmt::format("{}: no metric called \"{}\"{} (known: {})", key, name,
                     did_you_mean(name, known), fmt::join(known, ", "));
}

class SweepCheck {
 public:
  SweepCheck(const Ablation& ablation, const SweepOptions& options, std::int64_t memory)
      : ablation_(ablation), options_(options), memory_(memory), known_(known_columns(ablation)) {}

  std::vector<std::string> run() {
    const std::set<std::size_t> rows = rows_to_run(ablation_, options_);
    for (const std::size_t row : rows) check_row(row);
    if (!rows.empty()) check_metrics();
    check_jobs();
    complaints_.raise();
    return rate_lines(rows.size());
  }

 private:
  std::vector<std::string> rate_lines(std::size_t rows) const {
    std::vector<std::string> lines;
    for (const auto& [rates, names] : rates_) {
      const std::string whose =
          names.size() == rows
              ? fmt::format("all {} rows", rows)
              : fmt::format("{} of {} rows: {}", names.size(), rows, fmt::join(names, ", "));
      lines.push_back(fmt::format("learning rate: {} ({})", rates, whose));
    }
    return lines;
  }

  // By its first run: seeds and folds change nothing that is looked at.
  void check_row(std::size_t index) {
    const Row& row = ablation_.rows[index];
    const auto job = std::find_if(ablation_.jobs.begin(), ablation_.jobs.end(),
                                  [&](const Job& one) { return one.row == index; });
    Preflight found = look_ahead(job->config, data_);
    if (ablation_.folds > 0 && found.problems.empty()) {
      const std::string problem = complaint_about_own_val(job->config);
      if (!problem.empty()) found.problems.push_back(problem);
    }
    rates_[found.rates].push_back(row.name);
    for (const std::string& problem : found.problems) complaints_.add(row.name, problem);
    if (const std::string problem = memory_problem(found, memory_); !problem.empty()) {
      complaints_.add(row.name, problem);
    } else {
      largest_ = std::max(largest_, found.peak_bytes);
    }
    std::vector<std::string> columns = found.columns;
    // Where the data cannot be asked, everything that the task may measure.
    if (columns.empty()) {
      for (const Column& column : columns_of(ablation_.kind.metrics(row.config)))
        columns.push_back(column.name);
    }
    for (const std::string& column : columns) {
      if (!is_in(measured_, column)) measured_.push_back(column);
    }
    columns.insert(columns.end(), {"parameters", "macs", "macs_paper", "min_per_epoch"});
    for (const PublishedCell& cell : row.published) {
      if (!is_measured(columns, cell.metric, known_))
        complaints_.add(row.name, unknown_metric("published.columns", cell.metric, columns));
    }
  }

  // A column needs one row that has it. Finished rows have been measured.
  void check_metrics() {
    for (const Job& job : ablation_.jobs) {
      if (status_of(ablation_, options_.out, job).state != JobState::kFinished) continue;
      for (const auto& [key, value] : read_summary(paths_of(options_.out, job).run).metrics) {
        const std::string name = column_called(column_name(key), known_).name;
        if (!is_in(measured_, name)) measured_.push_back(name);
      }
    }
    for (const std::string& metric : ablation_.metrics) {
      if (!is_measured(measured_, metric, known_))
        complaints_.add(unknown_metric("metrics", metric, measured_));
    }
    check_columns("detect", ablation_.detect);
    check_columns("equivalent", ablation_.equivalent);
  }

  // Of the columns that the table has; all that are measured, where those are the main ones.
  void check_columns(const std::string& key, const std::map<std::string, double>& by_column) {
    std::vector<std::string> shown = ablation_.metrics.empty() ? measured_ : ablation_.metrics;
    for (std::string& column : shown) column = column_called(column, known_).name;
    for (const auto& [name, value] : by_column) {
      if (!is_measured(shown, name, known_)) complaints_.add(unknown_metric(key, name, shown));
    }
  }

  void check_jobs() {
    if (memory_ <= 0 || largest_ <= 0 || options_.jobs <= memory_ / largest_) return;
    complaints_.add(fmt::format(
        "--jobs {}: a training step needs up to {} and there are {}; use --jobs {}", options_.jobs,
        bytes_text(largest_), bytes_text(memory_), std::max<std::int64_t>(1, memory_ / largest_)));
  }

  const Ablation& ablation_;
  const SweepOptions& options_;
  std::int64_t memory_;
  std::vector<Column> known_;
  OpenData data_;
  RowComplaints complaints_;
  std::vector<std::string> measured_;
  std::map<std::string, std::vector<std::string>> rates_;  // names of rows by their rates
  std::int64_t largest_ = 0;
};

}  // namespace

Preflight look_ahead(const schema::Value& resolved, OpenData& data) {
  return Look(resolved, data).run();
}

std::string memory_problem(const Preflight& run, std::int64_t memory) {
  if (memory <= 0 || run.peak_bytes <= memory) return "";
  return fmt::format(
      "train.batch_size: a training step needs about {}, this machine gives {}; lower it, or set "
      "model.checkpointing=true where the network has it",
      bytes_text(run.peak_bytes), bytes_text(memory));
}

std::vector<std::string> check_sweep(const Ablation& ablation, const SweepOptions& options,
                                     std::int64_t memory) {
  return SweepCheck(ablation, options, memory).run();
}

void check_experiment(const schema::Value& resolved, std::int64_t memory) {
  OpenData data;
  const Preflight found = look_ahead(resolved, data);
  RowComplaints complaints;
  for (const std::string& problem : found.problems) complaints.add(problem);
  if (const std::string problem = memory_problem(found, memory); !problem.empty())
    complaints.add(problem);
  complaints.raise();
}

}  // namespace fovea::experiment
