// results.md and the table for the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiment/tables/results.h"
#include "experiment/tables/results_layout.h"
#include "experiment/tables/text_table.h"

namespace fovea::experiment {
namespace {

std::string marked(const std::string& text, Rank rank, bool markdown) {
  if (!markdown || rank == Rank::kNone) return text;
  return rank == Rank::kBest ? "**" + text + "**" : "<u>" + text + "</u>";
}

// "77.51 ± 0.44 (5)"; a single run has no spread.
std::string cell_text(const MetricResult& metric, const MetricColumn& column, Rank rank,
                      bool markdown) {
  const metrics::Estimate& e = metric.estimate;
  if (e.n == 0) return "-";
  const std::string mean = marked(number_text(e.mean, column.info.decimals), rank, markdown);
  if (e.n == 1) return fmt::format("{} (1){}", mean, missing_text(metric));
  return fmt::format("{} ± {} ({}){}", mean, number_text(e.std, column.info.decimals), e.n,
                     missing_text(metric));
}

void add_metric(TextTable& table, const Results& results, std::size_t index,
                const MetricColumn& column, const std::vector<ChangeMark>& marks, bool markdown) {
  const std::string unit = column.info.unit.empty() ? "" : " (" + column.info.unit + ")";
  table.header.push_back(
      fmt::format("{}{} {}", column.name, unit, column.info.larger_is_better ? "↑" : "↓"));
  if (column.has_published) {
    table.header.emplace_back("published");
    table.header.emplace_back("difference");
  }
  for (std::size_t r = 0; r < results.rows.size(); ++r) {
    const MetricResult& metric = results.rows[r].metrics[index];
    auto& cells = table.rows[r];
    cells.push_back(cell_text(metric, column, column.ranks[r], markdown));
    if (!column.has_published) continue;
    if (!metric.published) {
      cells.insert(cells.end(), 2, "-");
      continue;
    }
    const PublishedValue& value = metric.published->value;
    std::string text = number_text(value.mean, column.info.decimals);
    if (value.std) text += fmt::format(" ± {}", number_text(*value.std, column.info.decimals));
    if (!marks[r].sign.empty()) text += " " + marks[r].sign;
    cells.push_back(std::move(text));
    cells.push_back(metric.estimate.n == 0
                        ? "-"
                        : signed_text(metric.estimate.mean - value.mean, column.info.decimals));
  }
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

void add_costs(TextTable& table, const Results& results) {
  std::vector<CostColumn> columns = cost_columns(results);
  CostColumn time = time_column(results);
  if (std::any_of(time.cells.begin(), time.cells.end(), [](const auto& c) { return !c.empty(); }))
    columns.push_back(std::move(time));
  for (const CostColumn& column : columns) {
    table.header.push_back(column.title);
    if (!column.published.empty()) table.header.emplace_back("published");
    for (std::size_t r = 0; r < results.rows.size(); ++r) {
      table.rows[r].push_back(or_dash(column.cells[r]));
      if (!column.published.empty()) table.rows[r].push_back(or_dash(column.published[r]));
    }
  }
}

TextTable main_table(const Results& results, bool markdown) {
  TextTable table;
  table.header = {"row"};
  const std::vector<ChangeMark> marks = change_marks(results);
  for (std::size_t r = 0; r < results.rows.size(); ++r)
    table.rows.push_back({marked_name(results.rows[r], marks[r])});
  const std::vector<MetricColumn> columns = metric_columns(results);
  for (std::size_t i = 0; i < columns.size(); ++i)
    add_metric(table, results, i, columns[i], marks, markdown);
  add_costs(table, results);
  return table;
}

TextTable difference_table(const Results& results) {
  TextTable table;
  table.rows.resize(results.differences.size());
  for (const DifferenceColumn& column : difference_columns(results)) {
    table.header.push_back(column.title);
    for (std::size_t i = 0; i < table.rows.size(); ++i) table.rows[i].push_back(column.cells[i]);
  }
  return table;
}

}  // namespace

std::string to_markdown(const Results& results) {
  std::string text =
      fmt::format("# {}\n\n{}\n", results.name, markdown_table(main_table(results, true)));
  for (const std::string& line : footer(results)) text += line + "\n";
  text += "Best mean bold, second underlined.\n";
  if (results.differences.empty()) return text;
  text += fmt::format("\n## {}\n\n{}\n", difference_title(results),
                      markdown_table(difference_table(results)));
  text += fmt::format("{}\n", kDifferenceNote);
  for (const std::string& remark : difference_remarks(results)) text += remark + "\n";
  return text;
}

std::string to_text(const Results& results) {
  std::string text = plain_table(main_table(results, false));
  text += "\n";
  for (const std::string& line : footer(results)) text += line + "\n";
  if (results.differences.empty()) return text;
  text +=
      fmt::format("\n{}:\n{}", difference_title(results), plain_table(difference_table(results)));
  for (const std::string& remark : difference_remarks(results)) text += "\n" + remark + "\n";
  return text;
}

}  // namespace fovea::experiment
