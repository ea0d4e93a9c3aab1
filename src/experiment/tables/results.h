// The table of an ablation: rows by metrics, mean +- std over seeds or folds, published numbers
// beside ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/inference/eval_results.h"
#include "experiment/sweep/ablation.h"
#include "experiment/tables/difference.h"
#include "experiment/tables/metric_column.h"
#include "metrics/statistics.h"

namespace fovea::experiment {

struct MetricResult {
  std::string name;                                    // of its column
  std::map<std::int64_t, double> by_run;               // by seed, or by fold
  std::map<std::int64_t, metrics::Coverage> coverage;  // the same, where values are missing
  metrics::Estimate estimate;                          // of folds without an interval
  std::optional<PublishedCell> published;
  /// The scores of the only run, where `eval` has scored the weights that it reports: one value a
  /// case, and which samples or volumes these are. Of a cross-validation, on val: those of all
  /// folds, each case by the run whose fold holds it out.
  std::optional<CaseScores> cases;
};

struct ResultRow {
  std::string name;
  std::string dataset;  // type; "" where the experiments have none
  schema::Value overrides;
  std::vector<std::int64_t> seeds;    // those that are finished
  std::vector<std::int64_t> folds;    // the same, of a cross-validation
  std::vector<MetricResult> metrics;  // one for each column, in the same order
  std::optional<std::int64_t> parameters, macs, macs_paper;
  std::optional<double> time_s;          // of training, mean over the seeds
  std::optional<double> min_per_epoch;   // the same, minutes of an epoch with its evaluation
  std::vector<PublishedCell> published;  // also of columns that are not shown
  std::vector<std::string> changes;      // what falls short of plan or publication (changes.h)
  std::string selected_on;               // split that chose the weights; "" for none or unknown
};

struct Results {
  std::string name;
  std::string paper;                // key, or ""
  std::vector<std::int64_t> seeds;  // planned
  std::int64_t folds = 0;           // planned, of a cross-validation; 0: none
  std::vector<Column> columns;
  std::map<std::string, double> detect, equivalent;  // by column: ablation.h
  std::vector<ResultRow> rows;
  std::vector<Difference> differences;  // of the rows to the first one
  bool complete = true;                 // every row has every seed, or every fold
  /// What the runs themselves say and a reader must know, one sentence an item: selected on test,
  /// made with different data or by different programs.
  std::vector<std::string> remarks;
};

/// Reads the finished runs of a sweep. Columns are those of the ablation, or else the metrics of
/// the split "test" without the losses (of "val" where there is no test, and of folds).
Results collect_results(const Ablation& ablation, const std::filesystem::path& sweep);

/// results.json: a list of rows with name, overrides, seeds, metrics {name: {mean, std, n, values,
/// ci95_low, ci95_high, dataset, split, metric, unit, larger_is_better, defined, compared}} (the
/// last two, sums over the seeds, where values are missing, else null), parameters, macs,
/// macs_paper, time_s, published {key, metrics {name: {table, row, column, mean, std}}}, changes,
/// selected_on, min_per_epoch where known, differences {metric: {to, mean, ci95_low, ci95_high,
/// pairs, p_exact, p_holm, paired_by, left_out, verdict, bca95_low, bca95_high, detectable,
/// equivalent {margin, p_holm}}} and remarks about the whole table. left_out counts
/// the pairs where one of the two is undefined. Differences that are paired by case, because there
/// is one seed, also have p_signed_rank. Metrics that are not finite are named in "nonfinite"; an
/// interval or test that its pairs do not allow is null, as is the standard deviation of a single
/// run. Rows of a cross-validation also have "folds", the finished ones, of which the values of the
/// metrics are. Folds share most of their training samples, so their means have no interval.
std::string to_json(const Results& results);
/// One line for each row and metric, full precision; columns are only ever added at the end.
std::string to_csv(const Results& results);
/// Aligned columns; best bold, second underlined, unless means are over different sets of values;
/// below it the differences to the first row, paired by seed, with intervals.
std::string to_markdown(const Results& results);
/// A booktabs table with directions in the header and the conventions in the footer.
std::string to_latex(const Results& results);
/// For the terminal.
std::string to_text(const Results& results);

/// Writes DIR/results.{json,csv,md,tex} of the finished runs, each at once. Others may do so at the
/// same time: whoever writes last has seen all runs that were finished then.
void update_results(const Ablation& ablation, const std::filesystem::path& sweep);

/// Computes the results of a sweep again from its run folders and compares them with the files, the
/// configurations with those of the jobs, and the programs that made the runs with each other. Also
/// names who runs what is not finished, and claims that were left behind. One line for each; empty
/// if there is none.
std::vector<std::string> check_results(const Ablation& ablation,
                                       const std::filesystem::path& sweep);

}  // namespace fovea::experiment
