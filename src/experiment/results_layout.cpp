#include "experiment/results_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

namespace fovea::experiment {
namespace {

constexpr double kAlpha = 0.05;

const PublishedCell* published_cell(const ResultRow& row, const std::string& metric) {
  for (const PublishedCell& cell : row.published) {
    if (cell.metric == metric) return &cell;
  }
  return nullptr;
}

int decimals_of(const Results& results, std::size_t column, bool percent) {
  if (percent) return 2;
  double largest = 0;
  for (const ResultRow& row : results.rows) {
    const MetricResult& metric = row.metrics[column];
    if (std::isfinite(metric.estimate.mean))
      largest = std::max(largest, std::abs(metric.estimate.mean));
    if (metric.published) largest = std::max(largest, std::abs(metric.published->value.mean));
  }
  return largest < 10 ? 4 : largest < 1000 ? 2 : 0;
}

// The distance of a row from the ideal, rounded as shown so that equal digits tie.
double badness(const MetricResult& metric, const MetricColumn& column) {
  const double scale = std::pow(10.0, column.decimals);
  const double shown = std::round(metric.estimate.mean * scale) / scale;
  return column.larger_is_better ? -shown : shown;
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
  for (std::size_t i = 0; i < results.metrics.size(); ++i) {
    MetricColumn column;
    column.name = results.metrics[i];
    column.percent = is_percent(column.name);
    column.larger_is_better = larger_is_better(column.name);
    column.decimals = decimals_of(results, i, column.percent);
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

std::string published_count(const ResultRow& row, const std::string& metric) {
  const PublishedCell* cell = published_cell(row, metric);
  if (cell == nullptr) return "";
  // Papers print fewer digits; zeros behind them would claim more.
  std::string text = short_count(cell->value.mean);
  const std::size_t unit = std::min(text.find(' '), text.size());
  if (text.find('.') == std::string::npos) return text;
  const std::size_t digit = text.find_last_not_of('0', unit - 1);
  const std::size_t keep = text[digit] == '.' ? digit : digit + 1;
  return text.erase(keep, unit - keep);
}

CountColumns count_columns(const Results& results) {
  CountColumns columns;
  for (const ResultRow& row : results.rows) {
    columns.parameters |= row.parameters.has_value();
    columns.macs |= row.macs.has_value();
    columns.published_parameters |= published_cell(row, "parameters") != nullptr;
    columns.published_macs |= published_cell(row, "macs") != nullptr;
  }
  return columns;
}

std::vector<std::string> footer(const Results& results) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("Mean ± sample standard deviation, {}.", seeds_text(results)));
  if (!results.complete) lines.emplace_back("Not all runs are finished.");
  if (count_columns(results).macs)
    lines.emplace_back("MACs: multiply-adds of one forward pass at batch 1.");
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

std::int64_t most_pairs(const std::vector<Difference>& all) {
  std::int64_t most = 0;
  for (const Difference& d : all) most = std::max(most, d.paired.difference.n);
  return most;
}

std::string p_text(double p) { return std::isnan(p) ? "-" : fmt::format("{:.4g}", p); }

std::vector<Difference> differences(const Results& results) {
  std::vector<Difference> all;
  const std::vector<MetricColumn> columns = metric_columns(results);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::vector<double> p_values;
    const std::size_t first = all.size();
    for (std::size_t r = 1; r < results.rows.size(); ++r) {
      const Paired paired =
          paired_by_seed(results.rows[r].metrics[i].by_seed, results.rows[0].metrics[i].by_seed);
      if (paired.difference.n < 2) continue;
      all.push_back({r, results.rows[r].name, columns[i].name, columns[i].decimals, paired, 0});
      p_values.push_back(paired.p);
    }
    const std::vector<double> adjusted = holm(p_values);
    for (std::size_t k = 0; k < adjusted.size(); ++k) all[first + k].holm = adjusted[k];
  }
  return all;
}

std::string significance_note(std::int64_t pairs) {
  if (pairs < 1 || smallest_p(pairs) <= kAlpha) return "";
  return fmt::format("With {} pairs no p below {} is possible; {} pairs are needed for {}.", pairs,
                     smallest_p(pairs), pairs_needed(kAlpha), kAlpha);
}

}  // namespace fovea::experiment
