#include "experiment/reports/explanations/explanation_scores.h"

#include <fmt/format.h>

#include <cmath>

#include "base/csv_field.h"
#include "base/file.h"
#include "experiment/reports/explanations/score_curves.h"
#include "experiment/tables/text_table.h"

namespace fovea::experiment {
namespace {

using explain::AgainstRandom;
using explain::Better;
using explain::ScoreCell;
using explain::ScoredRuns;
using explain::ScoreRow;
using schema::Value;

std::string number(double value) {
  if (!std::isfinite(value)) return "-";
  return std::abs(value) < 1000 ? fmt::format("{:.3f}", value) : fmt::format("{:.3g}", value);
}

// ">R", "<R": better or worse than random.
std::string mark(const std::optional<AgainstRandom>& test, char than) {
  if (!test) return "";
  switch (test->verdict()) {
    case metrics::Verdict::kBetter:
      return fmt::format(" >{}", than);
    case metrics::Verdict::kWorse:
      return fmt::format(" <{}", than);
    default:
      return "";
  }
}

std::string cell_text(const ScoreCell& cell, std::int64_t samples) {
  const metrics::Estimate& e = cell.value;
  if (e.n == 0) return ".";
  std::string text = number(e.mean);
  if (e.n > 1) text += " ± " + number(e.high - e.mean);
  if (e.n < samples) text += fmt::format(" ({})", e.n);
  return text + mark(cell.random, 'R') + mark(cell.first, '1');
}

std::string head_of(const explain::AskedScore& score) {
  const Better better = score.score->rule.better;
  const char* arrow = better == Better::kHigher ? " ↑" : better == Better::kLower ? " ↓" : "";
  return score.score->name + arrow;
}

std::string name_of(const ScoredRuns& scored, const ScoreRow& row) {
  return scored.runs.size() == 1 ? row.method
                                 : fmt::format("{}: {}", scored.runs[row.run].title, row.method);
}

// Every test in a line.
TextTable tests_table(const ScoredRuns& scored, const std::vector<ScoreRow>& rows) {
  TextTable table{{"score", "row", "than", "difference", "95 %", "p", "p (Holm)", "won", "n",
                   "left out", "verdict"},
                  {}};
  const auto add = [&](std::size_t s, const ScoreRow& row, const std::string& than,
                       const std::optional<AgainstRandom>& test) {
    if (!test) return;
    table.rows.push_back(
        {scored.scores[s].score->name, name_of(scored, row), than, number(test->difference.mean),
         fmt::format("{} to {}", number(test->difference.low), number(test->difference.high)),
         fmt::format("{:.3g}", test->p), fmt::format("{:.3g}", test->p_holm),
         fmt::format("{:.0f} %", 100 * test->win_rate), fmt::format("{}", test->difference.n),
         fmt::format("{}", test->left_out), metrics::name_of(test->verdict())});
  };
  for (std::size_t s = 0; s < scored.scores.size(); ++s) {
    for (const ScoreRow& row : rows) {
      add(s, row, "random", row.cells[s].random);
      add(s, row, name_of(scored, rows.front()), row.cells[s].first);
    }
  }
  return table;
}

Value number_value(double value) { return std::isfinite(value) ? Value(value) : Value(); }

Value estimate_value(const metrics::Estimate& e) {
  return Value::object({{"n", e.n},
                        {"mean", number_value(e.mean)},
                        {"low", number_value(e.low)},
                        {"high", number_value(e.high)}});
}

Value test_value(const std::optional<AgainstRandom>& test) {
  if (!test) return {};
  return Value::object({{"difference", estimate_value(test->difference)},
                        {"p", number_value(test->p)},
                        {"p_holm", number_value(test->p_holm)},
                        {"win_rate", number_value(test->win_rate)},
                        {"left_out", test->left_out},
                        {"verdict", metrics::name_of(test->verdict())}});
}

const char* direction_of(Better better) {
  return better == Better::kHigher ? "higher" : better == Better::kLower ? "lower" : "neither";
}

Value json_of(const ScoredRuns& scored, const std::vector<ScoreRow>& rows, Value record) {
  record.set("split", scored.split);
  record.set("samples", std::ssize(scored.samples));
  record.set("available", scored.available);
  Value scores = Value::array();
  for (const explain::AskedScore& one : scored.scores) {
    scores.push_back(Value::object({{"name", one.score->name},
                                    {"better", direction_of(one.score->rule.better)},
                                    {"options", one.options.object()}}));
  }
  record.set("scores", std::move(scores));
  Value all = Value::array();
  for (const ScoreRow& row : rows) {
    Value values = Value::object();
    for (std::size_t s = 0; s < row.cells.size(); ++s) {
      values.set(scored.scores[s].score->name,
                 Value::object({{"value", estimate_value(row.cells[s].value)},
                                {"against_random", test_value(row.cells[s].random)},
                                {"against_first", test_value(row.cells[s].first)}}));
    }
    all.push_back(Value::object({{"run", scored.runs[row.run].title},
                                 {"weights", scored.runs[row.run].weights},
                                 {"method", row.method},
                                 {"scores", std::move(values)}}));
  }
  record.set("rows", std::move(all));
  return record;
}

std::string csv_of(const ScoredRuns& scored) {
  std::string text = "run,method,seed,sample,target";
  for (const explain::AskedScore& one : scored.scores) text += "," + one.score->name;
  text += "\n";
  for (const explain::ScoredRun& run : scored.runs) {
    const auto add = [&](const explain::ScoredRow& row, const std::string& seed) {
      for (std::size_t i = 0; i < scored.samples.size(); ++i) {
        text += fmt::format("{},{},{},{},{}", csv_field(run.title), row.method, seed,
                            csv_field(scored.samples[i]), csv_field(run.targets[i]));
        for (const std::vector<double>& values : row.values)
          text += std::isfinite(values[i]) ? fmt::format(",{}", values[i]) : ",";
        text += "\n";
      }
    };
    for (const explain::ScoredRow& row : run.methods) add(row, "");
    for (std::size_t k = 0; k < run.random.size(); ++k) add(run.random[k], std::to_string(k + 1));
  }
  return text;
}

}  // namespace

std::string score_table_text(const ScoredRuns& scored, const std::vector<ScoreRow>& rows,
                             bool markdown) {
  TextTable table{{"method"}, {}};
  for (const explain::AskedScore& score : scored.scores) table.header.push_back(head_of(score));
  for (const ScoreRow& row : rows) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.push_back(name_of(scored, row));
    for (const ScoreCell& cell : row.cells)
      cells.push_back(cell_text(cell, std::ssize(scored.samples)));
  }
  std::string text = markdown ? markdown_table(table) : plain_table(table);
  text += fmt::format(
      "\n{} of {} samples of {}; mean ± half of its 95 % interval over samples, \"(5)\": over the "
      "5 in which it is defined, \".\": in none.\n"
      "R: better (>) or worse (<) than random relevance, 1: than the first row; paired sign-flip "
      "tests over samples, adjusted over the rows of a score (Holm), at {}.\n",
      scored.samples.size(), scored.available, scored.split, metrics::kAlpha);
  const std::string few = explain::too_few(std::ssize(scored.samples));
  return few.empty() ? text : text + few + ".\n";
}

std::vector<std::string> write_explanation_scores(const io::fs::path& folder,
                                                  const ScoredRuns& scored,
                                                  const std::vector<ScoreRow>& rows,
                                                  const Value& settings) {
  io::make_directories(folder);
  io::write_atomic(folder / "scores.csv", csv_of(scored));
  io::write_atomic(folder / "scores.md",
                   "# Scores of explanations\n\n" + score_table_text(scored, rows, true) +
                       "\n## Tests\n\nDifferences are positive where the row is better.\n\n" +
                       markdown_table(tests_table(scored, rows)));
  std::vector<std::string> files = {"scores.json", "scores.csv", "scores.md"};
  if (write_score_curves(folder / "curves.png", scored, rows)) files.push_back("curves.png");
  io::write_atomic(folder / "scores.json", json_of(scored, rows, settings).dump() + "\n");
  return files;
}

}  // namespace fovea::experiment
