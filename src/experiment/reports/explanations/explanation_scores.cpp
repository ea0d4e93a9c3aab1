#include "experiment/reports/explanations/explanation_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/csv_field.h"
#include "base/file.h"
#include "experiment/reports/explanations/estimate_value.h"
#include "experiment/reports/explanations/score_curves.h"
#include "experiment/tables/text_table.h"

namespace fovea::experiment {
namespace {

using explain::AgainstRandom;
using explain::Better;
using explain::ScoreCell;
using explain::ScoredRuns;
using explain::ScoreRow;
using explain::SeedRow;
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

// `spread` of the mean, and over how many of `all` it is where not over all.
std::string cell_text(const ScoreCell& cell, double spread, std::ptrdiff_t all) {
  const metrics::Estimate& e = cell.value;
  if (e.n == 0) return ".";
  std::string text = number(e.mean);
  if (e.n > 1) text += " ± " + number(spread);
  if (e.n < all) text += fmt::format(" ({})", e.n);
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

std::string name_of(const SeedRow& row) {
  return fmt::format("{}: {}", row.configuration, row.method);
}

// A table with a column for each score.
TextTable table_of_scores(const ScoredRuns& scored) {
  TextTable table{{"method"}, {}};
  for (const explain::AskedScore& score : scored.scores) table.header.push_back(head_of(score));
  return table;
}

// Every test in a line.
TextTable no_tests() {
  return {{"score", "row", "than", "difference", "95 %", "p", "p (Holm)", "won", "n", "left out",
           "verdict"},
          {}};
}

void add_test(TextTable& table, const std::string& score, const std::string& row,
              const std::string& than, const std::optional<AgainstRandom>& test) {
  if (!test) return;
  table.rows.push_back(
      {score, row, than, number(test->difference.mean),
       fmt::format("{} to {}", number(test->difference.low), number(test->difference.high)),
       fmt::format("{:.3g}", test->p), fmt::format("{:.3g}", test->p_holm),
       fmt::format("{:.0f} %", 100 * test->win_rate), fmt::format("{}", test->difference.n),
       fmt::format("{}", test->left_out), metrics::name_of(test->verdict())});
}

TextTable tests_table(const ScoredRuns& scored, const std::vector<ScoreRow>& rows) {
  TextTable table = no_tests();
  for (std::size_t s = 0; s < scored.scores.size(); ++s) {
    const std::string& score = scored.scores[s].score->name;
    for (const ScoreRow& row : rows) {
      add_test(table, score, name_of(scored, row), "random", row.cells[s].random);
      add_test(table, score, name_of(scored, row), name_of(scored, rows.front()),
               row.cells[s].first);
    }
  }
  return table;
}

TextTable seed_tests_table(const ScoredRuns& scored, const std::vector<SeedRow>& rows) {
  TextTable table = no_tests();
  for (std::size_t s = 0; s < scored.scores.size(); ++s) {
    const std::string& score = scored.scores[s].score->name;
    for (const SeedRow& row : rows) {
      add_test(table, score, name_of(row), "random", row.cells[s].random);
      add_test(table, score, name_of(row), rows.front().configuration, row.cells[s].first);
    }
  }
  return table;
}

std::string seed_table_text(const ScoredRuns& scored, const std::vector<SeedRow>& rows,
                            bool markdown) {
  TextTable table = table_of_scores(scored);
  std::ptrdiff_t most = 0;
  for (const SeedRow& row : rows) most = std::max(most, std::ssize(row.runs));
  for (const SeedRow& row : rows) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.push_back(name_of(row));
    for (const ScoreCell& cell : row.cells) cells.push_back(cell_text(cell, cell.value.std, most));
  }
  return (markdown ? markdown_table(table) : plain_table(table)) +
         fmt::format(
             "\nOver up to {} runs of a configuration, which differ by their seed: mean ± standard "
             "deviation of the runs' means, \"(2)\": over the 2 that there are.\n"
             "R: better (>) or worse (<) than random relevance, 1: than the same method of {}; "
             "paired sign-flip tests over runs (Holm, {}; with {} runs p is {:.2g} at best, {} are "
             "needed, and more where several rows are compared).\n",
             most, rows.front().configuration, metrics::kAlpha, most, metrics::smallest_p(most),
             metrics::pairs_needed(metrics::kAlpha));
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

Value cells_value(const ScoredRuns& scored, const std::vector<ScoreCell>& cells) {
  Value values = Value::object();
  for (std::size_t s = 0; s < cells.size(); ++s) {
    values.set(scored.scores[s].score->name,
               Value::object({{"value", estimate_value(cells[s].value)},
                              {"against_random", test_value(cells[s].random)},
                              {"against_first", test_value(cells[s].first)}}));
  }
  return values;
}

Value json_of(const ScoredRuns& scored, const ScoredTables& tables, Value record) {
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
  Value rows = Value::array();
  for (const ScoreRow& row : tables.rows) {
    rows.push_back(Value::object({{"run", scored.runs[row.run].title},
                                  {"weights", scored.runs[row.run].weights},
                                  {"method", row.method},
                                  {"scores", cells_value(scored, row.cells)}}));
  }
  record.set("rows", std::move(rows));
  Value seeds = Value::array();
  for (const SeedRow& row : tables.over_seeds) {
    seeds.push_back(Value::object({{"configuration", row.configuration},
                                   {"method", row.method},
                                   {"runs", std::ssize(row.runs)},
                                   {"scores", cells_value(scored, row.cells)}}));
  }
  record.set("over_seeds", std::move(seeds));
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

ScoredTables scored_tables(const ScoredRuns& scored) {
  std::vector<ScoreRow> rows = explain::score_table(scored);
  std::vector<SeedRow> seeds = explain::over_seeds(scored, rows);
  return {std::move(rows), std::move(seeds)};
}

std::string score_table_text(const ScoredRuns& scored, const ScoredTables& tables, bool markdown) {
  TextTable table = table_of_scores(scored);
  for (const ScoreRow& row : tables.rows) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.push_back(name_of(scored, row));
    for (const ScoreCell& cell : row.cells)
      cells.push_back(
          cell_text(cell, cell.value.high - cell.value.mean, std::ssize(scored.samples)));
  }
  std::string text = markdown ? markdown_table(table) : plain_table(table);
  text += fmt::format(
      "\n{} of {} samples of {}{}; mean ± half of its 95 % interval over samples, \"(5)\": over "
      "the "
      "5 in which it is defined, \".\": in none.\n"
      "R: better (>) or worse (<) than random relevance, 1: than the first row; paired sign-flip "
      "tests over samples, adjusted over the rows of a score (Holm), at {}.\n",
      scored.samples.size(), scored.available, scored.split,
      scored.noise ? fmt::format(" under {} {:g}", scored.noise->type, scored.noise->level) : "",
      metrics::kAlpha);
  const std::string few = explain::too_few(std::ssize(scored.samples));
  if (!few.empty()) text += few + ".\n";
  if (!tables.over_seeds.empty())
    text += "\n" + seed_table_text(scored, tables.over_seeds, markdown);
  return text;
}

std::vector<std::string> write_explanation_scores(const io::fs::path& folder,
                                                  const ScoredRuns& scored,
                                                  const ScoredTables& tables,
                                                  const Value& settings) {
  io::make_directories(folder);
  io::write_atomic(folder / "scores.csv", csv_of(scored));
  std::string text = "# Scores of explanations\n\n" + score_table_text(scored, tables, true) + "\n";
  for (const explain::ScoredRun& run : scored.runs)
    text += fmt::format("- {}: {}\n", run.title, run.weights);
  text += "\n## Tests over samples\n\nDifferences are positive where the row is better.\n\n" +
          markdown_table(tests_table(scored, tables.rows));
  if (!tables.over_seeds.empty())
    text +=
        "\n## Tests over runs\n\n" + markdown_table(seed_tests_table(scored, tables.over_seeds));
  io::write_atomic(folder / "scores.md", text);
  std::vector<std::string> files = {"scores.json", "scores.csv", "scores.md"};
  if (write_score_curves(folder / "curves.png", scored, tables.rows, tables.over_seeds))
    files.push_back("curves.png");
  io::write_atomic(folder / "scores.json", json_of(scored, tables, settings).dump() + "\n");
  return files;
}

}  // namespace fovea::experiment
