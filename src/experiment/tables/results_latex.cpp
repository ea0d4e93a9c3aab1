// results.tex: a booktabs table that can be pasted into a paper.
#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <vector>

#include "experiment/tables/latex_text.h"
#include "experiment/tables/results.h"
#include "experiment/tables/results_layout.h"

namespace fovea::experiment {
namespace {

// "77.51" as it stands in mathematics; "nan" would be three variables there.
std::string number(const std::string& text) {
  return text == "nan" ? std::string("\\mathrm{nan}") : text;
}

std::string value_text(double mean, std::optional<double> std, int decimals, Rank rank) {
  std::string text = number(number_text(mean, decimals));
  if (rank == Rank::kBest) text = fmt::format("\\textbf{{{}}}", text);
  if (rank == Rank::kSecond) text = fmt::format("\\underline{{{}}}", text);
  if (std) text += fmt::format("_{{\\pm {}}}", number(number_text(*std, decimals)));
  return fmt::format("${}$", text);
}

std::vector<std::string> header_cells(const std::vector<MetricColumn>& columns,
                                      const std::vector<CostColumn>& costs) {
  std::vector<std::string> cells = {"Row"};
  for (const MetricColumn& column : columns) {
    const std::string& unit = column.info.unit;
    cells.push_back(fmt::format("{}{} {}", latex_text(column.name),
                                unit.empty() ? "" : " (" + latex_text(unit) + ")",
                                column.info.larger_is_better ? "$\\uparrow$" : "$\\downarrow$"));
    if (column.has_published) cells.insert(cells.end(), {"Published", "$\\Delta$"});
  }
  for (const CostColumn& column : costs) {
    std::string title = column.title;
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    cells.push_back(std::move(title));
    if (!column.published.empty()) cells.emplace_back("Published");
  }
  return cells;
}

void add_metric_cells(const MetricResult& metric, const MetricColumn& column, Rank rank,
                      const ChangeMark& mark, std::vector<std::string>& cells) {
  const metrics::Estimate& e = metric.estimate;
  const bool known = e.n > 0;
  cells.push_back(known ? value_text(e.mean, e.n > 1 ? std::optional(e.std) : std::nullopt,
                                     column.info.decimals, rank) +
                              latex_text(missing_text(metric))
                        : "--");
  if (!column.has_published) return;
  if (!metric.published) {
    cells.insert(cells.end(), 2, "--");
    return;
  }
  const PublishedValue& value = metric.published->value;
  cells.push_back(value_text(value.mean, value.std, column.info.decimals, Rank::kNone) +
                  latex_text(mark.sign));
  cells.push_back(
      known ? fmt::format("${}$", number(signed_text(e.mean - value.mean, column.info.decimals)))
            : "--");
}

std::vector<std::string> row_cells(const Results& results, std::size_t r,
                                   const std::vector<MetricColumn>& columns,
                                   const std::vector<CostColumn>& costs, const ChangeMark& mark) {
  const ResultRow& row = results.rows[r];
  std::vector<std::string> cells = {latex_text(marked_name(row, mark))};
  for (std::size_t i = 0; i < columns.size(); ++i)
    add_metric_cells(row.metrics[i], columns[i], columns[i].ranks[r], mark, cells);
  const auto or_dashes = [](const std::string& text) { return text.empty() ? "--" : text; };
  for (const CostColumn& column : costs) {
    cells.push_back(or_dashes(column.cells[r]));
    if (!column.published.empty()) cells.push_back(or_dashes(column.published[r]));
  }
  return cells;
}

std::string rows_text(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& cells : rows) text += fmt::format("    {} \\\\\n", fmt::join(cells, " & "));
  return text;
}

// "p (Holm)" is "$p$ (Holm)", "95 % interval" "95\\,\\% interval".
std::string title_in_latex(std::string title) {
  if (title.starts_with("p (")) return "$p$" + title.substr(1);
  const std::size_t percent = title.find(" % ");
  if (percent != std::string::npos) title.replace(percent, 3, "\\,\\% ");
  title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  return title;
}

// Numbers with a sign stand in math: "+2.50 to +3.10".
std::string cell_in_latex(const std::string& cell) {
  if (cell == "-") return "--";
  if (cell[0] != '+' && cell[0] != '-') return latex_text(cell);
  const std::size_t to = cell.find(" to ");
  if (to == std::string::npos) return "$" + cell + "$";
  return fmt::format("${}$ to ${}$", cell.substr(0, to), cell.substr(to + 4));
}

// The second part of the table: every row against the first.
std::string differences_text(const Results& results) {
  std::vector<std::vector<std::string>> rows(results.differences.size());
  std::vector<std::string> header;
  std::string alignment;
  for (const DifferenceColumn& column : difference_columns(results)) {
    header.push_back(title_in_latex(column.title));
    alignment += column.numeric ? 'r' : 'l';
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].push_back(column.numeric ? cell_in_latex(column.cells[i])
                                       : latex_text(column.cells[i]));
  }
  return fmt::format(
      "\n  \\medskip\n  {{\\footnotesize {}.}}\n\n"
      "  \\begin{{tabular}}{{{}}}\n    \\toprule\n    {} \\\\\n    \\midrule\n"
      "{}    \\bottomrule\n  \\end{{tabular}}\n",
      latex_text(difference_title(results)), alignment, fmt::join(header, " & "), rows_text(rows));
}

std::string notes_text(const std::vector<std::string>& lines) {
  std::string text = "\n  \\smallskip\n  {\\footnotesize\n";
  for (const std::string& line : lines) text += "  " + latex_text(line) + "\n";
  return text + "  }\n";
}

}  // namespace

std::string to_latex(const Results& results) {
  const std::vector<MetricColumn> columns = metric_columns(results);
  const std::vector<CostColumn> costs = cost_columns(results);
  const std::vector<ChangeMark> marks = change_marks(results);
  const std::vector<std::string> header = header_cells(columns, costs);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t r = 0; r < results.rows.size(); ++r)
    rows.push_back(row_cells(results, r, columns, costs, marks[r]));
  std::string text = fmt::format(
      "\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n  \\begin{{tabular}}{{l{}}}\n"
      "    \\toprule\n    {} \\\\\n    \\midrule\n{}    \\bottomrule\n  \\end{{tabular}}\n",
      latex_text(results.name), std::string(header.size() - 1, 'r'), fmt::join(header, " & "),
      rows_text(rows));
  std::vector<std::string> notes = footer(results);
  notes.emplace_back("Best mean bold, second underlined.");
  if (!results.differences.empty()) {
    text += differences_text(results);
    notes.emplace_back(kDifferenceNote);
    for (std::string& remark : difference_remarks(results)) notes.push_back(std::move(remark));
  }
  text += notes_text(notes) + "\\end{table}\n";
  const std::string engine =
      needs_unicode_engine(text)
          ? "% Compile with lualatex or xelatex: pdflatex does not know all characters below.\n"
          : "";
  return engine + "% Needs \\usepackage{booktabs}.\n" + text;
}

}  // namespace fovea::experiment
