// Inside of results_text.cpp and results_latex.cpp: what goes into which cell, whatever the markup.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "experiment/tables/results.h"
#include "metrics/verdict.h"

namespace fovea::experiment {

enum class Rank { kNone, kBest, kSecond };

/// One metric as a column of all rows.
struct MetricColumn {
  std::string name;
  metrics::MetricInfo info;
  bool has_published = false;
  bool unequal_sets = false;  // rows' means are over different sets of values
  std::vector<Rank> ranks;  // by row; equal where the shown digits are equal; none of unequal sets
};
std::vector<MetricColumn> metric_columns(const Results& results);

/// Over all seeds, where values are missing. A run that misses none counts as many as the others.
metrics::Coverage coverage_of(const MetricResult& metric);
/// " [11/12]" where values are missing, else "".
std::string missing_text(const MetricResult& metric);

/// 77.51 with the decimals of its column; "nan" where it is not finite.
std::string number_text(double value, int decimals);
/// "+0.30"
std::string signed_text(double value, int decimals);
/// Four digits with a unit: "3.774 M", "257.7 M", "650".
std::string short_count(double count);
/// What a network costs, as a column of all rows.
struct CostColumn {
  std::string title;
  std::vector<std::string> cells;      // by row; "" where it is not known
  std::vector<std::string> published;  // by row, with as many digits as the paper has; empty: none
};
/// Parameters, multiply-adds and those that the paper counts; those that any row has.
std::vector<CostColumn> cost_columns(const Results& results);
/// The time that a run took, mean over the seeds.
CostColumn time_column(const Results& results);

/// What must be known to read the table, one sentence an item, without markup.
std::vector<std::string> footer(const Results& results);

/// The sign beside the published numbers (or the name) of rows that fall short of them; rows with
/// the same changes have the same sign.
struct ChangeMark {
  std::string sign;  // "†"
  std::string text;  // "12 of 300 epochs; --set train.epochs=12"
};
/// By row; empty where nothing was changed.
std::vector<ChangeMark> change_marks(const Results& results);

/// The name of a row with its sign, where there are no published numbers to put it beside.
std::string marked_name(const ResultRow& row, const ChangeMark& mark);

/// All rows but the first with at least two seeds in common with it; or, where both have a single
/// run or are cross-validated, with values of the same cases, samples or volumes. Where fewer than
/// two pairs are defined there is no interval, and no test.
std::vector<Difference> differences(const Results& results);

/// "Differences to ViT, paired by seed"
std::string difference_title(const Results& results);
/// How the differences are to be read.
inline constexpr const char* kDifferenceNote =
    "Interval: Student's t. p: exact randomisation test of the signs, two-sided; Holm over the "
    "rows of a metric. Better and worse: p (Holm) of at most 0.05, so at most 5 % of tables "
    "without a true difference say either of a metric.";
/// What else must be known of them: how small a p their seeds allow, or that they are of cases.
std::vector<std::string> difference_remarks(const Results& results);
/// The columns of a table of differences, as text, and the cells of each. Columns that no
/// difference has anything for are left out.
struct DifferenceColumn {
  std::string title;
  std::vector<std::string> cells;  // by difference
  bool numeric = true;
};
std::vector<DifferenceColumn> difference_columns(const Results& results);
/// "0.0625", "-" where there is none.
std::string p_text(double p);

}  // namespace fovea::experiment
