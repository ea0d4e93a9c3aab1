#include "experiment/tables/results_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "training/progress.h"

namespace fovea::experiment {
namespace {

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

// Whether rows that have a mean were averaged over different sets of values.
bool has_unequal_sets(const Results& results, std::size_t index) {
  std::set<std::map<std::int64_t, std::string>> sets;
  for (const ResultRow& row : results.rows) {
    const MetricResult& metric = row.metrics[index];
    if (!std::isfinite(metric.estimate.mean)) continue;
    std::map<std::int64_t, std::string> set;  // by seed, of those with missing values
    for (const auto& [seed, coverage] : metric.coverage) set[seed] = coverage.set;
    sets.insert(std::move(set));
  }
  return sets.size() > 1;
}

std::vector<Rank> ranks_of(const Results& results, std::size_t index, const MetricColumn& column) {
  std::vector<Rank> ranks(results.rows.size(), Rank::kNone);
  if (column.unequal_sets) return ranks;
  std::set<double> values;
  std::size_t known = 0;
  for (const ResultRow& row : results.rows) {
    if (!std::isfinite(row.metrics[index].estimate.mean)) continue;
    values.insert(badness(row.metrics[index], column));
    ++known;
  }
  // A single row, or equal ones, have no best; where there are two, "second" says nothing.
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

// "over n = 5 folds, not seeds (seed 0)", "n = 2 of 3 seeds (0, 1, 2)".
std::string runs_text(const Results& results) {
  const bool folds = results.folds > 0;
  const std::int64_t planned = folds ? results.folds : std::ssize(results.seeds);
  std::int64_t least = planned, most = 0;
  for (const ResultRow& row : results.rows) {
    const std::int64_t runs = folds ? std::ssize(row.folds) : std::ssize(row.seeds);
    least = std::min(least, runs);
    most = std::max(most, runs);
  }
  const std::string n =
      (least == most ? std::to_string(most) : fmt::format("{} to {}", least, most)) +
      (results.complete ? "" : fmt::format(" of {}", planned));
  const std::string seeds = fmt::format("{}", fmt::join(results.seeds, ", "));
  if (folds) return fmt::format("over n = {} folds, not seeds (seed {})", n, seeds);
  return fmt::format("n = {} seed{} ({})", n, planned == 1 ? "" : "s", seeds);
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
    column.unequal_sets = has_unequal_sets(results, i);
    column.ranks = ranks_of(results, i, column);
    columns.push_back(std::move(column));
  }
  return columns;
}

metrics::Coverage coverage_of(const MetricResult& metric) {
  metrics::Coverage sum;
  std::int64_t largest = 0;
  for (const auto& [seed, coverage] : metric.coverage)
    largest = std::max(largest, coverage.compared);
  if (largest == 0) return sum;
  for (const auto& [seed, value] : metric.by_run) {
    const auto found = metric.coverage.find(seed);
    sum.defined += found != metric.coverage.end() ? found->second.defined : largest;
    sum.compared += found != metric.coverage.end() ? found->second.compared : largest;
  }
  return sum;
}

std::string missing_text(const MetricResult& metric) {
  const metrics::Coverage coverage = coverage_of(metric);
  return coverage.complete() ? std::string()
                             : fmt::format(" [{}/{}]", coverage.defined, coverage.compared);
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

// Only beside published times: those of whole runs stand below the table.
CostColumn epoch_column(const Results& results) {
  CostColumn column{.title = "minutes an epoch", .cells = {}, .published = {}};
  bool any = false;
  for (const ResultRow& row : results.rows) {
    const PublishedCell* cell = published_cell(row, "min_per_epoch");
    column.cells.push_back(row.min_per_epoch ? fmt::format("{:.3g}", *row.min_per_epoch) : "");
    column.published.push_back(cell != nullptr ? fmt::format("{:.3g}", cell->value.mean) : "");
    any = any || cell != nullptr;
  }
  if (!any) column = {.title = "minutes an epoch", .cells = {}, .published = {}};
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
      count_column(results, "MACs (paper)", "macs_paper", &ResultRow::macs_paper),
      epoch_column(results)};
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

namespace {

void remark_missing(const Results& results, std::vector<std::string>& lines) {
  bool any = false;
  for (const ResultRow& row : results.rows) {
    for (const MetricResult& metric : row.metrics) any = any || !coverage_of(metric).complete();
  }
  if (!any) return;
  lines.emplace_back(
      "[n/N]: n of N values, one for each case and class, or for each class of a classification, "
      "are defined; the others are left out, since truth or prediction is without the class.");
  std::vector<std::string> names;
  for (const MetricColumn& column : metric_columns(results)) {
    if (column.unequal_sets) names.push_back(column.name);
  }
  if (!names.empty()) {
    lines.push_back(fmt::format(
        "{}: the rows' means are over different sets of values, so none is marked as the best.",
        fmt::join(names, ", ")));
  }
}

}  // namespace

std::vector<std::string> footer(const Results& results) {
  std::vector<std::string> lines;
  const bool folds = results.folds > 0;
  lines.push_back(
      fmt::format("Mean ± sample standard deviation{} {}.", folds ? "" : ",", runs_text(results)));
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
  remark_missing(results, lines);
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

}  // namespace fovea::experiment
