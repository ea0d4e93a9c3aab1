// The formats of results for machines: results.json and results.csv.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/csv_field.h"
#include "experiment/tables/results.h"
#include "experiment/tables/results_layout.h"

namespace fovea::experiment {
namespace {

using schema::Value;

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
  for (const auto& [seed, value] : metric.by_run) {
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

Value differences_json(const Results& results, std::size_t row) {
  Value metrics = Value::object();
  for (const Difference& d : results.differences) {
    if (d.index != row) continue;
    const metrics::Estimate& e = d.paired.difference;
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
    difference.set("verdict",
                   d.verdict == metrics::Verdict::kNone ? Value() : Value(name_of(d.verdict)));
    difference.set("bca95_low", d.bca.low);
    difference.set("bca95_high", d.bca.high);
    difference.set("detectable", d.detectable ? Value(*d.detectable) : Value());
    if (d.margin)
      difference.set("equivalent",
                     Value::object({{"margin", *d.margin}, {"p_holm", d.p_equivalence}}));
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

const Difference* find_difference(const std::vector<Difference>& all, std::size_t row,
                                  const std::string& metric) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Difference& d) {
    return d.index == row && d.metric == metric;
  });
  return found == all.end() ? nullptr : &*found;
}

void add_difference_cells(const Results& results, const Difference* found,
                          std::vector<std::string>& cells) {
  if (found == nullptr) {
    cells.insert(cells.end(), 7, "");
    return;
  }
  const metrics::Estimate& e = found->paired.difference;
  cells.insert(cells.end(), {csv_field(results.rows[0].name), csv_number(e.mean), csv_number(e.low),
                             csv_number(e.high), std::to_string(e.n), csv_number(found->paired.p),
                             csv_number(found->holm)});
}

// The columns that tables got later, at the end.
void add_verdict_cells(const Difference* found, std::vector<std::string>& cells) {
  if (found == nullptr) {
    cells.insert(cells.end(), 6, "");
    return;
  }
  cells.insert(cells.end(),
               {found->verdict == metrics::Verdict::kNone ? "" : name_of(found->verdict),
                csv_number(found->bca.low), csv_number(found->bca.high),
                found->detectable ? csv_number(*found->detectable) : "",
                found->margin ? csv_number(*found->margin) : "", csv_number(found->p_equivalence)});
}

}  // namespace

std::string to_json(const Results& results) {
  Value rows = Value::array();
  for (std::size_t r = 0; r < results.rows.size(); ++r) {
    const ResultRow& row = results.rows[r];
    std::vector<std::string> nonfinite;
    Value metrics = Value::object();
    for (std::size_t i = 0; i < row.metrics.size(); ++i) {
      const MetricResult& metric = row.metrics[i];
      if (metric.by_run.empty()) continue;
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
                                 {"differences", differences_json(results, r)},
                                 {"remarks", strings(results.remarks)}});
    if (results.folds > 0) value.set("folds", Value::array(row.folds));
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
      "p_exact,p_holm,changes,selected_on,remarks,macs_paper,time_s,defined,compared,left_out,"
      "folds,verdict,bca95_low,bca95_high,detectable,equivalence_margin,p_equivalence\n";
  for (std::size_t r = 0; r < results.rows.size(); ++r) {
    const ResultRow& row = results.rows[r];
    for (const MetricResult& metric : row.metrics) {
      const metrics::Estimate& e = metric.estimate;
      std::vector<std::string> runs, values;
      for (const auto& [run, value] : metric.by_run) {
        runs.push_back(std::to_string(run));
        values.push_back(fmt::format("{}", value));
      }
      const bool folds = results.folds > 0;
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
      cells.push_back(folds ? fmt::format("{}", fmt::join(row.seeds, " "))
                            : fmt::format("{}", fmt::join(runs, " ")));
      cells.push_back(fmt::format("{}", fmt::join(values, " ")));
      const Difference* found = find_difference(results.differences, r, metric.name);
      add_difference_cells(results, found, cells);
      cells.push_back(csv_field(fmt::format("{}", fmt::join(row.changes, "; "))));
      cells.push_back(row.selected_on);
      cells.push_back(csv_field(fmt::format("{}", fmt::join(results.remarks, " "))));
      cells.push_back(csv_count(row.macs_paper));
      cells.push_back(row.time_s ? csv_number(*row.time_s) : "");
      const metrics::Coverage coverage = coverage_of(metric);
      cells.push_back(coverage.complete() ? "" : std::to_string(coverage.defined));
      cells.push_back(coverage.complete() ? "" : std::to_string(coverage.compared));
      cells.push_back(found == nullptr ? "" : std::to_string(found->left_out));
      cells.push_back(folds ? fmt::format("{}", fmt::join(runs, " ")) : "");
      add_verdict_cells(found, cells);
      text += fmt::format("{}\n", fmt::join(cells, ","));
    }
  }
  return text;
}

}  // namespace fovea::experiment
