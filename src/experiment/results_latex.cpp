// results.tex: a booktabs table that can be pasted into a paper.
#include <fmt/format.h>

#include <vector>

#include "experiment/results.h"
#include "experiment/results_layout.h"

namespace fovea::experiment {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      result += "\\textbackslash{}";
    } else if (c == '~' || c == '^') {
      result += std::string("\\") + c + "{}";
    } else if (std::string("&%$#_{}").find(c) != std::string::npos) {
      result += std::string("\\") + c;
    } else if (text.compare(i, 2, "±") == 0) {
      result += "$\\pm$";
      ++i;
    } else {
      result += c;
    }
  }
  return result;
}

std::string value_text(double mean, std::optional<double> std, int decimals, Rank rank) {
  std::string text = number_text(mean, decimals);
  if (rank == Rank::kBest) text = fmt::format("\\textbf{{{}}}", text);
  if (rank == Rank::kSecond) text = fmt::format("\\underline{{{}}}", text);
  if (std) text += fmt::format("_{{\\pm {}}}", number_text(*std, decimals));
  return fmt::format("${}$", text);
}

std::vector<std::string> header_cells(const std::vector<MetricColumn>& columns,
                                      const CountColumns& counts) {
  std::vector<std::string> cells = {"Row"};
  for (const MetricColumn& column : columns) {
    cells.push_back(fmt::format("{}{} {}", escaped(column.name), column.percent ? " (\\%)" : "",
                                column.larger_is_better ? "$\\uparrow$" : "$\\downarrow$"));
    if (column.has_published) cells.insert(cells.end(), {"Published", "$\\Delta$"});
  }
  if (counts.parameters || counts.published_parameters) cells.emplace_back("Parameters");
  if (counts.published_parameters) cells.emplace_back("Published");
  if (counts.macs || counts.published_macs) cells.emplace_back("MACs");
  if (counts.published_macs) cells.emplace_back("Published");
  return cells;
}

void add_metric_cells(const MetricResult& metric, const MetricColumn& column, Rank rank,
                      std::vector<std::string>& cells) {
  const Estimate& e = metric.estimate;
  const bool known = e.n > 0;
  cells.push_back(known ? value_text(e.mean, e.n > 1 ? std::optional(e.std) : std::nullopt,
                                     column.decimals, rank)
                        : "--");
  if (!column.has_published) return;
  if (!metric.published) {
    cells.insert(cells.end(), 2, "--");
    return;
  }
  const PublishedValue& value = metric.published->value;
  cells.push_back(value_text(value.mean, value.std, column.decimals, Rank::kNone));
  cells.push_back(known ? fmt::format("${}$", signed_text(e.mean - value.mean, column.decimals))
                        : "--");
}

std::vector<std::string> row_cells(const Results& results, std::size_t r,
                                   const std::vector<MetricColumn>& columns,
                                   const CountColumns& counts) {
  const ResultRow& row = results.rows[r];
  std::vector<std::string> cells = {escaped(row.name)};
  for (std::size_t i = 0; i < columns.size(); ++i)
    add_metric_cells(row.metrics[i], columns[i], columns[i].ranks[r], cells);
  const auto add_count = [&](bool ours, bool published, const char* metric,
                             const std::optional<std::int64_t>& count) {
    if (ours || published) cells.push_back(count ? short_count(static_cast<double>(*count)) : "--");
    if (!published) return;
    const std::string text = published_count(row, metric);
    cells.push_back(text.empty() ? "--" : text);
  };
  add_count(counts.parameters, counts.published_parameters, "parameters", row.parameters);
  add_count(counts.macs, counts.published_macs, "macs", row.macs);
  return cells;
}

}  // namespace

std::string to_latex(const Results& results) {
  const std::vector<MetricColumn> columns = metric_columns(results);
  const CountColumns counts = count_columns(results);
  const std::vector<std::string> header = header_cells(columns, counts);
  std::string text = fmt::format(
      "% Needs \\usepackage{{booktabs}}.\n"
      "\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n  \\begin{{tabular}}{{l{}}}\n"
      "    \\toprule\n    {} \\\\\n    \\midrule\n",
      escaped(results.name), std::string(header.size() - 1, 'r'), fmt::join(header, " & "));
  for (std::size_t r = 0; r < results.rows.size(); ++r) {
    const std::vector<std::string> cells = row_cells(results, r, columns, counts);
    text += fmt::format("    {} \\\\\n", fmt::join(cells, " & "));
  }
  text += "    \\bottomrule\n  \\end{tabular}\n\n  \\smallskip\n  {\\footnotesize\n";
  for (const std::string& line : footer(results)) text += "  " + escaped(line) + "\n";
  text += "  Best mean bold, second underlined.\n";
  std::int64_t pairs = 0;
  for (const Difference& d : differences(results)) pairs = std::max(pairs, d.paired.difference.n);
  const std::string note = significance_note(pairs);
  if (!note.empty()) text += "  " + escaped(note) + "\n";
  return text + "  }\n\\end{table}\n";
}

}  // namespace fovea::experiment
