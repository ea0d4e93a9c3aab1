// Collecting results. Formats for machines are in results_machine.cpp, those for people in
// results_text.cpp.
#include "experiment/tables/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "data/parts/split.h"
#include "experiment/run/run_folder.h"
#include "experiment/sweep/job_list.h"
#include "experiment/tables/results_layout.h"
#include "experiment/tables/results_remarks.h"
#include "metrics/bootstrap.h"
#include "schema/load.h"
#include "training/store/data_identity.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Value;

// A map by metrics, with the names that these have today.
template <class T>
void rename_metrics(std::map<MetricKey, T>& by_metric, const std::vector<Column>& known) {
  std::map<MetricKey, T> renamed;
  for (auto& [key, value] : by_metric) {
    const Column column = column_called(column_name(key), known);
    renamed[column.key.split.empty() ? key : column.key] = std::move(value);
  }
  by_metric = std::move(renamed);
}

std::vector<FinishedRun> finished_runs(const Ablation& ablation, const std::vector<Column>& known,
                                       const fs::path& sweep) {
  std::vector<FinishedRun> runs;
  for (const Job& job : ablation.jobs) {
    if (status_of(ablation, sweep, job).state != JobState::kFinished) continue;
    runs.push_back({&job, read_summary(paths_of(sweep, job).run)});
    rename_metrics(runs.back().summary.metrics, known);
    rename_metrics(runs.back().summary.coverage, known);
  }
  return runs;
}

// The metrics of a split that are results rather than diagnostics or of single classes, in the
// order of their names. A cross-validation is about the samples that its folds hold out.
std::vector<Column> main_columns(const std::vector<FinishedRun>& runs,
                                 const std::vector<Column>& known, bool folds) {
  using data::Split;
  const auto [first, second] =
      folds ? std::pair(Split::kVal, Split::kTest) : std::pair(Split::kTest, Split::kVal);
  for (const Split split : {first, second, Split::kTrain}) {
    std::map<std::string, Column> columns;
    for (const FinishedRun& run : runs) {
      for (const auto& [key, value] : run.summary.metrics) {
        if (key.split != data::name_of(split)) continue;
        const Column column = column_called(column_name(key), known);
        const bool exact = std::any_of(known.begin(), known.end(),
                                       [&](const Column& c) { return c.name == column.name; });
        const bool of_class = !exact && !column.key.split.empty();  // a known one stands for it
        if (column.info.is_loss || of_class) continue;
        columns.emplace(column.name, column);
      }
    }
    std::vector<Column> sorted;
    for (const auto& [name, column] : columns) sorted.push_back(column);
    if (!sorted.empty()) return sorted;
  }
  return {};
}

// The values of a run's samples, if `eval` scored the weights that the run reports.
std::optional<CaseScores> cases_of(const Column& column, const FinishedRun& run,
                                   const fs::path& folder, double reported) {
  std::optional<CaseScores> cases =
      read_case_scores(folder / "eval" / column.key.split, column.key.metric);
  const bool same =
      cases && (cases->value == reported || (std::isnan(cases->value) && std::isnan(reported)));
  if (!same) return {};
  cases->data = run.summary.data;
  return cases;
}

// Which samples or volumes of val the values are of, by name.
std::vector<std::string> case_names(const CaseScores& cases, const fs::path& run) {
  if (cases.indices.empty()) return cases.volumes;
  const std::vector<std::string> samples = training::sample_list(run, data::Split::kVal);
  std::vector<std::string> names;
  for (const std::int64_t index : cases.indices) {
    FOVEA_CHECK(index < std::ssize(samples), FileError,
                fmt::format("{}: val has {} samples, but sample {} of it was scored",
                            (run / "splits.json").string(), samples.size(), index));
    names.push_back(samples[static_cast<std::size_t>(index)]);
  }
  return names;
}

// The values of the cases of all folds, in the order of their names; nothing where a case is in two
// folds, which lists of folds allow, or the folds are of different data.
std::optional<CaseScores> cases_of_folds(const Column& column,
                                         const std::vector<const FinishedRun*>& runs,
                                         const MetricResult& metric, const fs::path& sweep) {
  CaseScores all;
  std::map<std::string, double> values;
  for (const FinishedRun* run : runs) {
    const fs::path folder = paths_of(sweep, *run->job).run;
    const auto reported = metric.by_run.find(run->job->repeat());
    if (reported == metric.by_run.end()) return {};
    const std::optional<CaseScores> cases = cases_of(column, *run, folder, reported->second);
    if (!cases) return {};
    if (all.data.empty()) all.data = cases->data;
    if (cases->data != all.data) return {};
    const std::vector<std::string> names = case_names(*cases, folder);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!values.emplace(names[i], cases->values[i]).second) return {};
    }
  }
  for (const auto& [name, value] : values) {
    all.volumes.push_back(name);
    all.values.push_back(value);
  }
  return all;
}

void add_metrics(const Results& results, const std::vector<const FinishedRun*>& runs,
                 const fs::path& sweep, ResultRow& row) {
  for (const Column& column : results.columns) {
    MetricResult metric;
    metric.name = column.name;
    for (const FinishedRun* run : runs) {
      for (const auto& [key, value] : run->summary.metrics) {
        if (column_name(key) != column.name) continue;
        metric.by_run[run->job->repeat()] = value;
        const auto coverage = run->summary.coverage.find(key);
        if (coverage != run->summary.coverage.end())
          metric.coverage[run->job->repeat()] = coverage->second;
      }
    }
    const bool whole = std::ssize(runs) == results.folds;
    if (column.info.per_sample && results.folds > 0) {
      if (whole && column.key.split == data::name_of(data::Split::kVal))
        metric.cases = cases_of_folds(column, runs, metric, sweep);
    } else if (column.info.per_sample && runs.size() == 1 && !metric.by_run.empty()) {
      metric.cases = cases_of(column, *runs[0], paths_of(sweep, *runs[0]->job).run,
                              metric.by_run.begin()->second);
    }
    std::vector<double> values;
    for (const auto& [seed, value] : metric.by_run) values.push_back(value);
    metric.estimate = metrics::estimate(values);
    if (results.folds > 0) metric.estimate.low = metric.estimate.high = std::nan("");
    for (const PublishedCell& cell : row.published) {
      if (cell.metric == column.name) metric.published = cell;
    }
    row.metrics.push_back(std::move(metric));
  }
}

struct Output {
  const char* file;
  std::string content;
};

std::vector<Output> outputs(const Results& results) {
  return {{"results.json", to_json(results)},
          {"results.csv", to_csv(results)},
          {"results.md", to_markdown(results)},
          {"results.tex", to_latex(results)}};
}

// "results.md:7: file has ..., run folders give ..." for the first line that differs.
std::string first_difference(const fs::path& file, const std::string& before,
                             const std::string& now) {
  std::size_t begin = 0;
  for (int line = 1;; ++line) {
    const auto cut = [&](const std::string& text) {
      return begin >= text.size() ? std::string("(end)")
                                  : text.substr(begin, text.find('\n', begin) - begin);
    };
    const std::string old_line = cut(before);
    const std::string new_line = cut(now);
    if (old_line != new_line || old_line == "(end)") {
      return fmt::format("{}:{}: the file has \"{}\", the run folders give \"{}\"", file.string(),
                         line, old_line, new_line);
    }
    begin += old_line.size() + 1;
  }
}

}  // namespace

Results collect_results(const Ablation& ablation, const fs::path& sweep) {
  const std::vector<Column> known = known_columns(ablation);
  const std::vector<FinishedRun> runs = finished_runs(ablation, known, sweep);
  Results results;
  results.name = ablation.name;
  results.paper = ablation.published;
  results.seeds = ablation.seeds;
  results.folds = ablation.folds;
  if (ablation.metrics.empty()) results.columns = main_columns(runs, known, results.folds > 0);
  for (const std::string& name : ablation.metrics)
    results.columns.push_back(column_called(name, known));
  for (const auto& [name, value] : ablation.detect)
    results.detect[column_called(name, known).name] = value;
  for (const auto& [name, value] : ablation.equivalent)
    results.equivalent[column_called(name, known).name] = value;
  for (std::size_t i = 0; i < ablation.rows.size(); ++i) {
    ResultRow row;
    row.name = ablation.rows[i].name;
    if (const Value* type = schema::find_path(ablation.rows[i].config, "dataset.type"))
      row.dataset = type->as_string();
    row.overrides = ablation.rows[i].overrides;
    row.published = ablation.rows[i].published;
    for (PublishedCell& cell : row.published) cell.metric = column_called(cell.metric, known).name;
    row.changes = ablation.rows[i].changes;
    std::vector<const FinishedRun*> own;
    std::vector<double> times, epochs;  // seconds of a run, minutes of an epoch
    for (const FinishedRun& run : runs) {
      if (run.job->row != i) continue;
      own.push_back(&run);
      if (run.job->fold) row.folds.push_back(*run.job->fold);
      if (row.folds.size() < 2) row.seeds.push_back(run.job->seed);
      row.parameters = run.summary.parameters;
      row.macs = run.summary.macs;
      row.macs_paper = run.summary.macs_paper;
      if (run.summary.time_s) times.push_back(*run.summary.time_s);
      if (run.summary.time_s && run.summary.epochs.value_or(0) > 0)
        epochs.push_back(*run.summary.time_s / 60 / static_cast<double>(*run.summary.epochs));
      row.selected_on = run.summary.selected_on;
    }
    if (!times.empty()) row.time_s = metrics::estimate(times).mean;
    if (!epochs.empty()) row.min_per_epoch = metrics::estimate(epochs).mean;
    std::sort(row.seeds.begin(), row.seeds.end());
    const bool whole = results.folds > 0 ? std::ssize(row.folds) == results.folds
                                         : row.seeds.size() == ablation.seeds.size();
    results.complete = results.complete && whole;
    add_metrics(results, own, sweep, row);
    results.rows.push_back(std::move(row));
  }
  results.differences = differences(results);
  for (Difference& d : results.differences) d.bca = metrics::bca_interval(d.values);
  results.remarks = remarks_on(ablation, runs);
  return results;
}

void update_results(const Ablation& ablation, const fs::path& sweep) {
  const auto finished = [&] {
    std::vector<std::string> jobs;
    for (const Job& job : ablation.jobs) {
      if (status_of(ablation, sweep, job).state == JobState::kFinished) jobs.push_back(job.id);
    }
    return jobs;
  };
  // Another process may have written a newer table between our reading and our writing, and ours is
  // now over it. So who has written looks again, and writes again where a run was finished since.
  std::vector<std::string> seen, now = finished();
  do {
    seen = std::move(now);
    for (const Output& output : outputs(collect_results(ablation, sweep)))
      io::write_atomic(sweep / output.file, output.content);
    now = finished();
  } while (now != seen);
}

std::vector<std::string> check_results(const Ablation& ablation, const fs::path& sweep) {
  std::vector<std::string> lines;
  std::string program;
  std::string first;
  io::ClaimWatch watch;
  for (const Job& job : ablation.jobs) {
    const fs::path run = paths_of(sweep, job).run;
    std::error_code code;
    if (status_of(ablation, sweep, job).state != JobState::kFinished) {
      if (job.fold && is_trained(ablation, sweep, job)) {
        lines.push_back(fmt::format("{}: the cases of the fold are not scored", run.string()));
        continue;
      }
      const auto held = look_at(paths_of(sweep, job), watch);
      if (held && !held->gone) {
        lines.push_back(
            fmt::format("{}: not finished; {} runs it", run.string(), described(*held)));
        continue;
      }
      lines.push_back(fs::exists(run / "summary.json", code)
                          ? fmt::format("{}: summary.json or config.json is damaged, or the "
                                        "configuration is not that of the job",
                                        run.string())
                          : fmt::format("{}: not finished", run.string()));
      continue;
    }
    const RunSummary summary = read_summary(run);
    if (first.empty()) {
      first = job.id;
      program = summary.program;
    } else if (summary.program != program) {
      lines.push_back(fmt::format("{}: made by \"{}\", but {} by \"{}\"", run.string(),
                                  summary.program, first, program));
    }
  }
  for (std::string& line : check_claims(ablation, sweep)) lines.push_back(std::move(line));
  for (const Output& output : outputs(collect_results(ablation, sweep))) {
    const fs::path file = sweep / output.file;
    try {
      const std::string before = io::read_text(file);
      if (before != output.content) lines.push_back(first_difference(file, before, output.content));
    } catch (const FileError& error) {
      lines.emplace_back(error.what());
    }
  }
  return lines;
}

}  // namespace fovea::experiment
