#include "experiment/results_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "training/progress.h"

namespace fovea::experiment {
namespace {

constexpr double kAlpha = 0.05;

const PublishedCell* published_cell(const ResultRow& row, const std::string& metric) {
  for (const PublishedCell& cell : row.published) {
    if (cell.metric == metric) return &cell;
  }
  return nullptr;
}

// The distance of a row from the ideal, rounded as shown so that equal digits tie.
double badness(const MetricResult& metric, const MetricColumn& column) {
  const double scale = std::pow(10.0, column.info.decimals);
  const double shown = std::round(metric.estimate.mean * scale) / scale;
  return column.info.larger_is_better ? -shown : shown;
}

std::vector<Rank> ranks_of(const Results& results, std::size_t index, const MetricColumn& column) {
  std::vector<Rank> ranks(results.rows.size(), Rank::kNone);
  std::set<double> values;
  std::size_t known = 0;
  for (const ResultRow& row : results.rows) {
    if (!std::isfinite(row.metrics[index].estimate.mean)) continue;
    values.insert(badness(row.metrics[index], column));
    ++known;
  }
  // Of one row, or of equal ones, none is best; of two, saying "second" too tells nothing.
  if (values.size() < 2) return ranks;
  const double best = *values.begin();
  const double second = *std::next(values.begin());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!std::isfinite(results.rows[i].metrics[index].estimate.mean)) continue;
    const double value = badness(results.rows[i].metrics[index], column);
    if (value == best) ranks[i] = Rank::kBest;
    if (value == second && known > 2) ranks[i] = Rank::kSecond;
  }
  return ranks;
}

std::string seeds_text(const Results& results) {
  std::int64_t least = static_cast<std::int64_t>(results.seeds.size());
  std::int64_t most = 0;
  for (const ResultRow& row : results.rows) {
    least = std::min(least, static_cast<std::int64_t>(row.seeds.size()));
    most = std::max(most, static_cast<std::int64_t>(row.seeds.size()));
  }
  const std::string n = least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
  const std::string of =
      results.complete ? std::string() : fmt::format(" of {}", results.seeds.size());
  return fmt::format("n = {}{} seed{} ({})", n, of, results.seeds.size() == 1 ? "" : "s",
                     fmt::join(results.seeds, ", "));
}

}  // namespace

std::vector<MetricColumn> metric_columns(const Results& results) {
  std::vector<MetricColumn> columns;
  for (std::size_t i = 0; i < results.columns.size(); ++i) {
    MetricColumn column;
    column.name = results.columns[i].name;
    column.info = results.columns[i].info;
    column.has_published =
        std::any_of(results.rows.begin(), results.rows.end(),
                    [&](const auto& r) { return r.metrics[i].published.has_value(); });
    column.ranks = ranks_of(results, i, column);
    columns.push_back(std::move(column));
  }
  return columns;
}

std::string number_text(double value, int decimals) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "nan";
}

std::string signed_text(double value, int decimals) {
  return std::isfinite(value) ? fmt::format("{:+.{}f}", value, decimals) : "nan";
}

std::string short_count(double count) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  for (const auto& [size, unit] : kUnits) {
    if (count < size) continue;
    const double scaled = count / size;
    return fmt::format("{:.{}f}{}", scaled, scaled < 10 ? 3 : scaled < 100 ? 2 : 1, unit);
  }
  return fmt::format("{:.0f}", count);
}

namespace {

// Papers print fewer digits; zeros behind them would claim more.
std::string published_count(const PublishedCell* cell) {
  if (cell == nullptr) return "";
  std::string text = short_count(cell->value.mean);
  const std::size_t unit = std::min(text.find(' '), text.size());
  if (text.find('.') == std::string::npos) return text;
  const std::size_t digit = text.find_last_not_of('0', unit - 1);
  const std::size_t keep = text[digit] == '.' ? digit : digit + 1;
  return text.erase(keep, unit - keep);
}

using Count = std::optional<std::int64_t> ResultRow::*;

CostColumn count_column(const Results& results, const char* title, const char* metric,
                        Count count) {
  CostColumn column{.title = title, .cells = {}, .published = {}};
  bool any = false;
  for (const ResultRow& row : results.rows) {
    const auto& own = row.*count;
    column.cells.push_back(own ? short_count(static_cast<double>(*own)) : "");
    column.published.push_back(published_count(published_cell(row, metric)));
    any = any || !column.published.back().empty();
  }
  if (!any) column.published.clear();
  return column;
}

bool has_macs_paper(const Results& results) {
  return std::any_of(results.rows.begin(), results.rows.end(),
                     [](const ResultRow& row) { return row.macs_paper.has_value(); });
}

}  // namespace

std::vector<CostColumn> cost_columns(const Results& results) {
  std::vector<CostColumn> columns = {
      count_column(results, "parameters", "parameters", &ResultRow::parameters),
      count_column(results, "MACs", "macs", &ResultRow::macs),
      count_column(results, "MACs (paper)", "macs_paper", &ResultRow::macs_paper)};
  std::erase_if(columns, [](const CostColumn& column) {
    return column.published.empty() && std::all_of(column.cells.begin(), column.cells.end(),
                                                   [](const std::string& c) { return c.empty(); });
  });
  return columns;
}

CostColumn time_column(const Results& results) {
  CostColumn column{.title = "time of a run", .cells = {}, .published = {}};
  for (const ResultRow& row : results.rows)
    column.cells.push_back(row.time_s ? training::duration_text(*row.time_s) : "");
  return column;
}

std::vector<std::string> footer(const Results& results) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("Mean ± sample standard deviation, {}.", seeds_text(results)));
  if (!results.complete) lines.emplace_back("Not all runs are finished.");
  const bool counted = std::any_of(results.rows.begin(), results.rows.end(),
                                   [](const ResultRow& row) { return row.macs.has_value(); });
  if (counted) lines.emplace_back("MACs: multiply-adds of one forward pass at batch 1.");
  if (has_macs_paper(results)) {
    lines.emplace_back(
        "MACs (paper): counted by modules, as the paper does, which leaves out the matrix products "
        "of attention.");
  }
  std::set<std::string> tables;
  for (const ResultRow& row : results.rows) {
    for (const PublishedCell& cell : row.published) tables.insert(cell.table);
  }
  if (!tables.empty()) {
    lines.push_back(fmt::format("Published: {}, {}; difference: ours - published.", results.paper,
                                fmt::join(tables, ", ")));
  }
  std::set<std::string> told;
  for (const ChangeMark& mark : change_marks(results)) {
    if (!mark.sign.empty() && told.insert(mark.sign).second)
      lines.push_back(fmt::format("{} {}.", mark.sign, mark.text));
  }
  lines.insert(lines.end(), results.remarks.begin(), results.remarks.end());
  return lines;
}

std::vector<ChangeMark> change_marks(const Results& results) {
  constexpr std::array<const char*, 5> kSigns = {"†", "‡", "§", "¶", "‖"};
  std::vector<std::string> known;
  std::vector<ChangeMark> marks;
  for (const ResultRow& row : results.rows) {
    ChangeMark mark;
    mark.text = fmt::format("{}", fmt::join(row.changes, "; "));
    if (!row.changes.empty()) {
      const auto found = std::find(known.begin(), known.end(), mark.text);
      const auto place = static_cast<std::size_t>(found - known.begin());
      if (found == known.end()) known.push_back(mark.text);
      for (std::size_t i = 0; i <= place / kSigns.size(); ++i)
        mark.sign += kSigns[place % kSigns.size()];
    }
    marks.push_back(std::move(mark));
  }
  return marks;
}

std::string marked_name(const ResultRow& row, const ChangeMark& mark) {
  const bool beside_numbers =
      std::any_of(row.metrics.begin(), row.metrics.end(),
                  [](const MetricResult& metric) { return metric.published.has_value(); });
  return mark.sign.empty() || beside_numbers ? row.name : row.name + " " + mark.sign;
}

std::string p_text(double p) { return std::isnan(p) ? "-" : fmt::format("{:.4g}", p); }

const char* name_of(PairedBy by) { return by == PairedBy::kSeed ? "seed" : "case"; }

namespace {

// Of single runs: their values for the same cases of the same data.
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
  if (difference.left_out > 0 && differences.size() < 2) return {};
  difference.paired = {estimate(differences), sign_flip_p(differences)};
  difference.by = PairedBy::kCase;
  difference.p_signed_rank = signed_rank_p(differences);
  return difference;
}

std::optional<Difference> difference_of(const MetricResult& a, const MetricResult& b) {
  Difference difference;
  difference.paired = paired_by_seed(a.by_seed, b.by_seed);
  return difference.paired.difference.n >= 2 ? std::optional(difference) : by_case(a, b);
}

std::int64_t most_pairs(const std::vector<Difference>& all, PairedBy by) {
  std::int64_t most = 0;
  for (const Difference& d : all) {
    if (d.by == by) most = std::max(most, d.paired.difference.n);
  }
  return most;
}

void remark_cases(const std::vector<Difference>& all, std::vector<std::string>& remarks) {
  std::int64_t least = most_pairs(all, PairedBy::kCase), left_out = 0;
  std::vector<std::string> ranks;
  for (const Difference& d : all) {
    if (d.by != PairedBy::kCase) continue;
    least = std::min(least, d.paired.difference.n);
    left_out = std::max(left_out, d.left_out);
    ranks.push_back(fmt::format("{} {} {}", d.row, d.metric, p_text(d.p_signed_rank)));
  }
  const std::int64_t most = most_pairs(all, PairedBy::kCase);
  remarks.push_back(
      fmt::format("Paired over {} cases: one run each, so the test speaks of these networks and of "
                  "other cases, "
                  "not of other seeds.",
                  least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most)));
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
          difference_of(results.rows[r].metrics[i], results.rows[0].metrics[i]);
      if (!found) continue;
      found->index = r;
      found->row = results.rows[r].name;
      found->metric = columns[i].name;
      found->decimals = columns[i].info.decimals;
      p_values.push_back(found->paired.p);
      all.push_back(std::move(*found));
    }
    const std::vector<double> adjusted = holm(p_values);
    for (std::size_t k = 0; k < adjusted.size(); ++k) all[first + k].holm = adjusted[k];
  }
  return all;
}

std::string difference_title(const Results& results, const std::vector<Difference>& all) {
  const bool seeds = most_pairs(all, PairedBy::kSeed) > 0;
  const bool cases = most_pairs(all, PairedBy::kCase) > 0;
  return fmt::format("Differences to {}, paired by {}{}{}", results.rows[0].name,
                     seeds ? name_of(PairedBy::kSeed) : "", seeds && cases ? " or " : "",
                     cases ? name_of(PairedBy::kCase) : "");
}

std::vector<std::string> difference_remarks(const std::vector<Difference>& all) {
  std::vector<std::string> remarks;
  const std::int64_t pairs = most_pairs(all, PairedBy::kSeed);
  if (pairs > 0 && smallest_p(pairs) > kAlpha) {
    remarks.push_back(
        fmt::format("With {} pairs no p below {} is possible; {} pairs are needed for {}.", pairs,
                    smallest_p(pairs), pairs_needed(kAlpha), kAlpha));
  }
  if (most_pairs(all, PairedBy::kCase) > 0) remark_cases(all, remarks);
  return remarks;
}

}  // namespace fovea::experiment
