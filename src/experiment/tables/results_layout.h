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

/// What a pair has in common: the seed of two runs, or the sample that two networks saw.
enum class PairedBy { kSeed, kCase };
/// "seed", "case"
const char* name_of(PairedBy by);

/// A row against the first one.
struct Difference {
  std::size_t index = 0;  // of the row
  std::string row;
  std::string metric;
  int decimals = 2;
  metrics::Paired paired;
  std::vector<double> values;  // of the pairs
  double holm = 0;             // adjusted over the rows of the metric
  metrics::Verdict verdict = metrics::Verdict::kNone;
  std::int64_t tests = 0;  // rows of the metric that are tested
  /// Of seeds: the smallest difference that so many pairs, spread as these, show (verdict.h).
  std::optional<double> detectable;
  std::optional<double> margin;         // of a test for equivalence
  double p_equivalence = std::nan("");  // adjusted over the rows of the metric
  PairedBy by = PairedBy::kSeed;
  double p_signed_rank = 0;   // of cases: Wilcoxon's test beside that of the signs
  std::int64_t left_out = 0;  // cases or seeds where one of the two is undefined
  bool other_sets = false;    // of seeds: the two means of a pair are over different sets of values
};
/// All rows but the first with at least two seeds in common with it; or, where both have a single
/// run or are cross-validated, with values of the same cases, samples or volumes. Where fewer than
/// two pairs are defined there is no interval, and no test.
std::vector<Difference> differences(const Results& results);

/// "Differences to ViT, paired by seed"
std::string difference_title(const Results& results, const std::vector<Difference>& all);
/// How the differences are to be read.
inline constexpr const char* kDifferenceNote =
    "Interval: Student's t. p: exact randomisation test of the signs, two-sided; Holm over the "
    "rows of a metric. Better and worse: p (Holm) of at most 0.05, so at most 5 % of tables "
    "without a true difference say either of a metric.";
/// What else must be known of them: how small a p their seeds allow, or that they are of cases.
std::vector<std::string> difference_remarks(const Results& results,
                                            const std::vector<Difference>& all);
/// The columns of a table of differences, as text, and the cells of each. Columns that no
/// difference has anything for are left out.
struct DifferenceColumn {
  std::string title;
  std::vector<std::string> cells;  // by difference
  bool numeric = true;
};
std::vector<DifferenceColumn> difference_columns(const std::vector<Difference>& all);
/// "0.0625", "-" where there is none.
std::string p_text(double p);

}  // namespace fovea::experiment
