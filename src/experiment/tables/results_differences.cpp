// Rows of a table against its first one, paired by seed or by case.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "experiment/tables/results_layout.h"

namespace fovea::experiment {

std::string p_text(double p) { return std::isnan(p) ? "-" : fmt::format("{:.4g}", p); }

const char* name_of(PairedBy by) { return by == PairedBy::kSeed ? "seed" : "case"; }

namespace {

constexpr double kAlpha = 0.05;

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
  difference.paired = metrics::paired_by_seed(own, other);
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

}  // namespace

std::vector<Difference> differences(const Results& results) {
  std::vector<Difference> all;
  const std::vector<MetricColumn> columns = metric_columns(results);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::vector<double> p_values;
    const std::size_t first = all.size();
    for (std::size_t r = 1; r < results.rows.size(); ++r) {
      std::optional<Difference> found =
          difference_of(results, results.rows[r].metrics[i], results.rows[0].metrics[i]);
      if (!found) continue;
      found->index = r;
      found->row = results.rows[r].name;
      found->metric = columns[i].name;
      found->decimals = columns[i].info.decimals;
      p_values.push_back(found->paired.p);
      all.push_back(std::move(*found));
    }
    const std::vector<double> adjusted = metrics::holm(p_values);
    for (std::size_t k = 0; k < adjusted.size(); ++k) all[first + k].holm = adjusted[k];
  }
  return all;
}

bool leaves_out_pairs(const std::vector<Difference>& all) {
  return std::any_of(all.begin(), all.end(), [](const Difference& d) { return d.left_out > 0; });
}

std::string difference_title(const Results& results, const std::vector<Difference>& all) {
  const bool seeds = most_pairs(all, PairedBy::kSeed) > 0;
  const bool cases = most_pairs(all, PairedBy::kCase) > 0;
  return fmt::format("Differences to {}, paired by {}{}{}", results.rows[0].name,
                     seeds ? name_of(PairedBy::kSeed) : "", seeds && cases ? " or " : "",
                     cases ? name_of(PairedBy::kCase) : "");
}

std::vector<std::string> difference_remarks(const Results& results,
                                            const std::vector<Difference>& all) {
  std::vector<std::string> remarks;
  const std::int64_t pairs = most_pairs(all, PairedBy::kSeed);
  if (pairs > 0 && metrics::smallest_p(pairs) > kAlpha) {
    remarks.push_back(
        fmt::format("With {} pairs no p below {} is possible; {} pairs are needed for {}.", pairs,
                    metrics::smallest_p(pairs), metrics::pairs_needed(kAlpha), kAlpha));
  }
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
