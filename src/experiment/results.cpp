// Collecting results, and the formats for machines; those for people are in results_text.cpp.
#include "experiment/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"
#include "data/split.h"
#include "experiment/results_layout.h"
#include "experiment/results_remarks.h"
#include "experiment/run_folder.h"
#include "schema/load.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Value;

// Of a map by metrics, with the names that these have today.
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
// order of their names.
std::vector<Column> main_columns(const std::vector<FinishedRun>& runs,
                                 const std::vector<Column>& known) {
  for (const data::Split split : {data::Split::kTest, data::Split::kVal, data::Split::kTrain}) {
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

// The values of the single run's samples, if `eval` scored the weights that the run reports.
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

void add_metrics(const Results& results, const std::vector<const FinishedRun*>& runs,
                 const fs::path& sweep, ResultRow& row) {
  for (const Column& column : results.columns) {
    MetricResult metric;
    metric.name = column.name;
    for (const FinishedRun* run : runs) {
      for (const auto& [key, value] : run->summary.metrics) {
        if (column_name(key) != column.name) continue;
        metric.by_seed[run->job->seed] = value;
        const auto coverage = run->summary.coverage.find(key);
        if (coverage != run->summary.coverage.end())
          metric.coverage[run->job->seed] = coverage->second;
      }
    }
    if (column.info.per_sample && runs.size() == 1 && !metric.by_seed.empty()) {
      metric.cases = cases_of(column, *runs[0], paths_of(sweep, *runs[0]->job).run,
                              metric.by_seed.begin()->second);
    }
    std::vector<double> values;
    for (const auto& [seed, value] : metric.by_seed) values.push_back(value);
    metric.estimate = estimate(values);
    for (const PublishedCell& cell : row.published) {
      if (cell.metric == column.name) metric.published = cell;
    }
    row.metrics.push_back(std::move(metric));
  }
}

Value published_json(const std::string& paper, const std::vector<PublishedCell>& cells) {
  if (cells.empty()) return {};
  Value metrics = Value::object();
  for (const PublishedCell& cell : cells) {
    Value value =
        Value::object({{"table", cell.table}, {"row", cell.row}, {"column", cell.column}});
    // JSON has no NaN, which is published of a run that diverged.
    value.set("mean", std::isfinite(cell.value.mean) ? Value(cell.value.mean) : Value());
    if (!std::isfinite(cell.value.mean)) value.set("nonfinite", Value::array({Value("mean")}));
    value.set("std", cell.value.std ? Value(*cell.value.std) : Value());
    metrics.set(cell.metric, value);
  }
  return Value::object({{"key", paper}, {"metrics", metrics}});
}

Value or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value count_json(const std::optional<std::int64_t>& count) {
  return count ? Value(*count) : Value();
}

Value metric_json(const ResultRow& row, const MetricResult& metric, const Column& column,
                  std::vector<std::string>& nonfinite) {
  Value values = Value::array();
  bool finite = true;
  for (const auto& [seed, value] : metric.by_seed) {
    values.push_back(value);
    finite = finite && std::isfinite(value);
  }
  if (!finite) nonfinite.push_back(metric.name);
  const metrics::Coverage coverage = coverage_of(metric);
  const bool missing = !coverage.complete();
  return Value::object({{"mean", metric.estimate.mean},
                        {"std", metric.estimate.std},
                        {"n", metric.estimate.n},
                        {"values", values},
                        {"ci95_low", metric.estimate.low},
                        {"ci95_high", metric.estimate.high},
                        {"dataset", or_null(row.dataset)},
                        {"split", or_null(column.key.split)},
                        {"metric", column.key.metric},
                        {"unit", column.info.unit},
                        {"larger_is_better", column.info.larger_is_better},
                        {"defined", missing ? Value(coverage.defined) : Value()},
                        {"compared", missing ? Value(coverage.compared) : Value()}});
}

Value strings(const std::vector<std::string>& list) {
  Value array = Value::array();
  for (const std::string& text : list) array.push_back(text);
  return array;
}

Value differences_json(const Results& results, const std::vector<Difference>& all,
                       std::size_t row) {
  Value metrics = Value::object();
  for (const Difference& d : all) {
    if (d.index != row) continue;
    const Estimate& e = d.paired.difference;
    Value difference = Value::object({{"to", results.rows[0].name},
                                      {"mean", e.mean},
                                      {"ci95_low", e.low},
                                      {"ci95_high", e.high},
                                      {"pairs", e.n},
                                      {"p_exact", d.paired.p},
                                      {"p_holm", d.holm},
                                      {"paired_by", name_of(d.by)}});
    if (d.by == PairedBy::kCase) difference.set("p_signed_rank", d.p_signed_rank);
    difference.set("left_out", d.left_out);
    metrics.set(d.metric, difference);
  }
  return metrics;
}

// The shortest text that reads back as the same number; nothing for one that is none.
std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

std::string csv_count(const std::optional<std::int64_t>& count) {
  return count ? std::to_string(*count) : "";
}

// Returns how many pairs were left out, a column further on.
std::string add_difference_cells(const Results& results, const std::vector<Difference>& all,
                                 std::size_t row, const std::string& metric,
                                 std::vector<std::string>& cells) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Difference& d) {
    return d.index == row && d.metric == metric;
  });
  if (found == all.end()) {
    cells.insert(cells.end(), 7, "");
    return "";
  }
  const Estimate& e = found->paired.difference;
  cells.insert(cells.end(), {csv_field(results.rows[0].name), csv_number(e.mean), csv_number(e.low),
                             csv_number(e.high), std::to_string(e.n), csv_number(found->paired.p),
                             csv_number(found->holm)});
  return std::to_string(found->left_out);
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
  if (ablation.metrics.empty()) results.columns = main_columns(runs, known);
  for (const std::string& name : ablation.metrics)
    results.columns.push_back(column_called(name, known));
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
      row.seeds.push_back(run.job->seed);
      row.parameters = run.summary.parameters;
      row.macs = run.summary.macs;
      row.macs_paper = run.summary.macs_paper;
      if (run.summary.time_s) times.push_back(*run.summary.time_s);
      if (run.summary.time_s && run.summary.epochs.value_or(0) > 0)
        epochs.push_back(*run.summary.time_s / 60 / static_cast<double>(*run.summary.epochs));
      row.selected_on = run.summary.selected_on;
    }
    if (!times.empty()) row.time_s = estimate(times).mean;
    if (!epochs.empty()) row.min_per_epoch = estimate(epochs).mean;
    std::sort(row.seeds.begin(), row.seeds.end());
    results.complete = results.complete && row.seeds.size() == ablation.seeds.size();
    add_metrics(results, own, sweep, row);
    results.rows.push_back(std::move(row));
  }
  results.remarks = remarks_on(ablation, runs);
  return results;
}

std::string to_json(const Results& results) {
  Value rows = Value::array();
  const std::vector<Difference> all = differences(results);
  for (std::size_t r = 0; r < results.rows.size(); ++r) {
    const ResultRow& row = results.rows[r];
    std::vector<std::string> nonfinite;
    Value metrics = Value::object();
    for (std::size_t i = 0; i < row.metrics.size(); ++i) {
      const MetricResult& metric = row.metrics[i];
      if (metric.by_seed.empty()) continue;
      metrics.set(metric.name, metric_json(row, metric, results.columns[i], nonfinite));
    }
    Value value = Value::object({{"name", row.name},
                                 {"overrides", row.overrides},
                                 {"seeds", Value::array(row.seeds)},
                                 {"metrics", metrics},
                                 {"parameters", count_json(row.parameters)},
                                 {"macs", count_json(row.macs)},
                                 {"macs_paper", count_json(row.macs_paper)},
                                 {"time_s", row.time_s ? Value(*row.time_s) : Value()},
                                 {"published", published_json(results.paper, row.published)},
                                 {"changes", strings(row.changes)},
                                 {"selected_on", or_null(row.selected_on)},
                                 {"differences", differences_json(results, all, r)},
                                 {"remarks", strings(results.remarks)}});
    if (!nonfinite.empty()) value.set("nonfinite", Value::array(nonfinite));
    if (row.min_per_epoch) value.set("min_per_epoch", *row.min_per_epoch);
    rows.push_back(std::move(value));
  }
  return rows.dump() + "\n";
}

std::string to_csv(const Results& results) {
  std::string text =
      "row,metric,n,mean,std,ci95_low,ci95_high,published_mean,published_std,difference,parameters,"
      "macs,seeds,values,difference_to,paired_difference,paired_ci95_low,paired_ci95_high,pairs,"
      "p_exact,p_holm,changes,selected_on,remarks,macs_paper,time_s,defined,compared,left_out\n";
  const std::vector<Difference> all = differences(results);
  for (std::size_t r = 0; r < results.rows.size(); ++r) {
    const ResultRow& row = results.rows[r];
    for (const MetricResult& metric : row.metrics) {
      const Estimate& e = metric.estimate;
      std::vector<std::string> seeds, values;
      for (const auto& [seed, value] : metric.by_seed) {
        seeds.push_back(std::to_string(seed));
        values.push_back(fmt::format("{}", value));
      }
      std::vector<std::string> cells = {
          csv_field(row.name), csv_field(metric.name), std::to_string(e.n), csv_number(e.mean),
          csv_number(e.std),   csv_number(e.low),      csv_number(e.high)};
      if (metric.published) {
        const PublishedValue& value = metric.published->value;
        cells.push_back(csv_number(value.mean));
        cells.push_back(value.std ? csv_number(*value.std) : "");
        cells.push_back(csv_number(e.mean - value.mean));
      } else {
        cells.insert(cells.end(), 3, "");
      }
      cells.push_back(csv_count(row.parameters));
      cells.push_back(csv_count(row.macs));
      cells.push_back(fmt::format("{}", fmt::join(seeds, " ")));
      cells.push_back(fmt::format("{}", fmt::join(values, " ")));
      const std::string left_out = add_difference_cells(results, all, r, metric.name, cells);
      cells.push_back(csv_field(fmt::format("{}", fmt::join(row.changes, "; "))));
      cells.push_back(row.selected_on);
      cells.push_back(csv_field(fmt::format("{}", fmt::join(results.remarks, " "))));
      cells.push_back(csv_count(row.macs_paper));
      cells.push_back(row.time_s ? csv_number(*row.time_s) : "");
      const metrics::Coverage coverage = coverage_of(metric);
      cells.push_back(coverage.complete() ? "" : std::to_string(coverage.defined));
      cells.push_back(coverage.complete() ? "" : std::to_string(coverage.compared));
      cells.push_back(left_out);
      text += fmt::format("{}\n", fmt::join(cells, ","));
    }
  }
  return text;
}

void write_results(const Results& results, const fs::path& sweep) {
  for (const Output& output : outputs(results))
    io::write_atomic(sweep / output.file, output.content);
}

std::vector<std::string> check_results(const Ablation& ablation, const fs::path& sweep) {
  std::vector<std::string> lines;
  std::string program;
  std::string first;
  for (const Job& job : ablation.jobs) {
    const fs::path run = paths_of(sweep, job).run;
    std::error_code code;
    if (status_of(ablation, sweep, job).state != JobState::kFinished) {
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
