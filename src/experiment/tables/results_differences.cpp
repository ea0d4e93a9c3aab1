// Rows of a table against its first one, paired by seed or by case.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "experiment/tables/results_layout.h"
#include "metrics/power.h"

namespace fovea::experiment {

std::string p_text(double p) { return std::isnan(p) ? "-" : fmt::format("{:.4g}", p); }

const char* name_of(PairedBy by) { return by == PairedBy::kSeed ? "seed" : "case"; }

namespace {

// The values of two single runs, or of all folds, for the same cases of the same data.
std::optional<Difference> by_case(const MetricResult& a, const MetricResult& b) {
  if (!a.cases || !b.cases || !a.cases->same_cases(*b.cases)) return {};
  Difference difference;
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.cases->values.size(); ++i) {
    const double value = a.cases->values[i] - b.cases->values[i];
    if (std::isnan(value)) {
      ++difference.left_out;
    } else {
      differences.push_back(value);
    }
  }
  difference.paired = {metrics::estimate(differences), metrics::sign_flip_p(differences)};
  difference.by = PairedBy::kCase;
  difference.p_signed_rank = metrics::signed_rank_p(differences);
  difference.values = std::move(differences);
  return difference;
}

// Without the runs where one of the two is undefined.
std::optional<Difference> by_seed(const MetricResult& a, const MetricResult& b) {
  Difference difference;
  const auto set_of = [](const MetricResult& metric, std::int64_t seed) {
    const auto found = metric.coverage.find(seed);
    return found == metric.coverage.end() ? std::string() : found->second.set;
  };
  std::map<std::int64_t, double> own, other;
  for (const auto& [seed, value] : a.by_run) {
    const auto found = b.by_run.find(seed);
    if (found == b.by_run.end()) continue;
    if (std::isnan(value) || std::isnan(found->second)) {
      ++difference.left_out;
    } else {
      own[seed] = value;
      other[seed] = found->second;
      difference.other_sets = difference.other_sets || set_of(a, seed) != set_of(b, seed);
    }
  }
  for (const auto& [seed, value] : own) difference.values.push_back(value - other.at(seed));
  difference.paired = {metrics::estimate(difference.values),
                       metrics::sign_flip_p(difference.values)};
  const std::int64_t common = difference.paired.difference.n + difference.left_out;
  return common >= 2 ? std::optional(difference) : std::nullopt;
}

// Folds are no pairs: they share most of their training samples.
std::optional<Difference> difference_of(const Results& results, const MetricResult& a,
                                        const MetricResult& b) {
  if (results.folds > 0) return by_case(a, b);
  const std::optional<Difference> seeds = by_seed(a, b);
  return seeds ? seeds : by_case(a, b);
}

// What the tests of one metric's rows allow to be said, once all of them are there.
void judge(const Results& results, const MetricColumn& column, std::span<Difference> rows) {
  std::vector<double> p_values, p_equivalent;
  const auto margin = results.equivalent.find(column.name);
  for (Difference& d : rows) {
    p_values.push_back(d.paired.p);
    if (margin == results.equivalent.end()) continue;
    d.margin = margin->second;
    p_equivalent.push_back(metrics::equivalence_p(d.values, *d.margin));
  }
  const std::vector<double> adjusted = metrics::holm(p_values),
                            equivalent = metrics::holm(p_equivalent);
  const std::int64_t tests =
      std::count_if(p_values.begin(), p_values.end(), [](double p) { return !std::isnan(p); });
  for (std::size_t k = 0; k < rows.size(); ++k) {
    Difference& d = rows[k];
    d.holm = adjusted[k];
    d.tests = tests;
    if (d.margin) d.p_equivalence = equivalent[k];
    if (d.other_sets) continue;  // the two means are of different things
    const metrics::Estimate& e = d.paired.difference;
    d.verdict = metrics::verdict_of(d.holm, e.mean, column.info.larger_is_better);
    if (d.by == PairedBy::kSeed) d.detectable = metrics::detectable_difference(e.n, e.std, tests);
  }
}

std::int64_t most_pairs(const std::vector<Difference>& all, PairedBy by) {
  std::int64_t most = 0;
  for (const Difference& d : all) {
    if (d.by == by) most = std::max(most, d.paired.difference.n);
  }
  return most;
}

void remark_cases(const Results& results, const std::vector<Difference>& all,
                  std::vector<std::string>& remarks) {
  std::int64_t least = most_pairs(all, PairedBy::kCase), left_out = 0;
  std::vector<std::string> ranks;
  for (const Difference& d : all) {
    if (d.by != PairedBy::kCase) continue;
    least = std::min(least, d.paired.difference.n);
    left_out = std::max(left_out, d.left_out);
    ranks.push_back(fmt::format("{} {} {}", d.row, d.metric, p_text(d.p_signed_rank)));
  }
  const std::int64_t most = most_pairs(all, PairedBy::kCase);
  remarks.push_back(fmt::format(
      "Paired over {} cases: {}, so the test speaks of these networks and of other "
      "cases, not of other seeds.",
      least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most),
      results.folds > 0 ? "each scored once, by the run whose fold holds it out" : "one run each"));
  if (left_out > 0)
    remarks.push_back(fmt::format(
        "Up to {} cases are left out of a pair, since one of the two is undefined there.",
        left_out));
  remarks.push_back(fmt::format("p of Wilcoxon's signed-rank test over these cases: {}.",
                                fmt::join(ranks, ", ")));
}

// How far apart runs of the first row are that differ in their seed alone.
void remark_noise(const Results& results, std::vector<std::string>& remarks) {
  std::vector<std::string> floors;
  for (const MetricColumn& column : metric_columns(results)) {
    const auto found =
        std::find_if(results.rows[0].metrics.begin(), results.rows[0].metrics.end(),
                     [&](const MetricResult& metric) { return metric.name == column.name; });
    const double apart = metrics::noise_floor(found->estimate.n, found->estimate.std);
    if (std::isfinite(apart))
      floors.push_back(fmt::format("{} {}", column.name, number_text(apart, column.info.decimals)));
  }
  if (results.folds > 0 || floors.empty()) return;
  remarks.push_back(
      fmt::format("Noise floor: two runs of {} that differ in their seed alone are apart "
                  "by no more than this in 95 of 100 cases: {}.",
                  results.rows[0].name, fmt::join(floors, ", ")));
}

void remark_detectable(const std::vector<Difference>& all, std::vector<std::string>& remarks) {
  const bool any = std::any_of(all.begin(), all.end(),
                               [](const Difference& d) { return d.detectable.has_value(); });
  if (any)
    remarks.push_back(
        fmt::format("Detectable: the true difference that so many pairs, spread as these are, show "
                    "in {:.0f} of 100 cases.",
                    100 * metrics::kPower));
}

// How many pairs the differences need that were asked for.
void remark_needed(const Results& results, std::vector<std::string>& remarks) {
  for (const auto& [column, wished] : results.detect) {
    std::vector<std::string> rows;
    for (const Difference& d : results.differences) {
      const double std = d.paired.difference.std;
      if (d.metric != column || d.by != PairedBy::kSeed || d.other_sets || !(std > 0)) continue;
      const auto needed =
          metrics::pairs_for(wished / std, metrics::kAlpha / static_cast<double>(d.tests));
      rows.push_back(needed ? fmt::format("{} {} seeds (power {:.0f} %)", d.row, needed->pairs,
                                          100 * needed->power)
                            : fmt::format("{} more than 10,000 seeds", d.row));
    }
    remarks.push_back(
        rows.empty() ? fmt::format("To show a difference of {} in {}: not known without two seeds "
                                   "whose differences vary.",
                                   wished, column)
                     : fmt::format("To show a difference of {} in {}: {}.", wished, column,
                                   fmt::join(rows, ", ")));
  }
}

void remark_equivalence(const Results& results, std::vector<std::string>& remarks) {
  for (const auto& [column, margin] : results.equivalent) {
    std::vector<std::string> rows;
    for (const Difference& d : results.differences) {
      if (d.metric == column) rows.push_back(fmt::format("{} {}", d.row, p_text(d.p_equivalence)));
    }
    remarks.push_back(fmt::format(
        "Equivalence of {} within {} (two one-sided tests of the signs, "
        "Holm), p: {}.",
        column, margin, rows.empty() ? "no pairs" : fmt::format("{}", fmt::join(rows, ", "))));
  }
}

}  // namespace

std::vector<Difference> differences(const Results& results) {
  std::vector<Difference> all;
  const std::vector<MetricColumn> columns = metric_columns(results);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::size_t first = all.size();
    for (std::size_t r = 1; r < results.rows.size(); ++r) {
      std::optional<Difference> found =
          difference_of(results, results.rows[r].metrics[i], results.rows[0].metrics[i]);
      if (!found) continue;
      found->index = r;
      found->row = results.rows[r].name;
      found->metric = columns[i].name;
      found->decimals = columns[i].info.decimals;
      all.push_back(std::move(*found));
    }
    judge(results, columns[i], std::span(all).subspan(first));
  }
  return all;
}

std::string difference_title(const Results& results) {
  const std::vector<Difference>& all = results.differences;
  const bool seeds = most_pairs(all, PairedBy::kSeed) > 0;
  const bool cases = most_pairs(all, PairedBy::kCase) > 0;
  return fmt::format("Differences to {}, paired by {}{}{}", results.rows[0].name,
                     seeds ? name_of(PairedBy::kSeed) : "", seeds && cases ? " or " : "",
                     cases ? name_of(PairedBy::kCase) : "");
}

std::vector<std::string> difference_remarks(const Results& results) {
  const std::vector<Difference>& all = results.differences;
  std::vector<std::string> remarks;
  remark_noise(results, remarks);
  const std::int64_t pairs = most_pairs(all, PairedBy::kSeed);
  std::int64_t tests = 1;
  for (const Difference& d : all) tests = std::max(tests, d.tests);
  const double alpha = metrics::kAlpha / static_cast<double>(tests);
  if (pairs > 0 && metrics::smallest_p(pairs) > alpha) {
    remarks.push_back(
        fmt::format("With {} pairs no p below {} is possible; {} pairs are needed for {}{}.", pairs,
                    metrics::smallest_p(pairs), metrics::pairs_needed(alpha), metrics::kAlpha,
                    tests > 1 ? fmt::format(" with {} rows to compare (Holm)", tests) : ""));
  }
  remark_detectable(all, remarks);
  remark_needed(results, remarks);
  remark_equivalence(results, remarks);
  std::vector<std::string> unequal;
  for (const Difference& d : all)
    if (d.other_sets) unequal.push_back(fmt::format("{} of {}", d.metric, d.row));
  if (!unequal.empty())
    remarks.push_back(
        fmt::format("Means over different sets of values: {}; a difference there also depends on "
                    "which values are missing.",
                    fmt::join(unequal, ", ")));
  if (most_pairs(all, PairedBy::kCase) > 0) remark_cases(results, all, remarks);
  return remarks;
}

}  // namespace fovea::experiment
