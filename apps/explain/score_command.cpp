#include "explain/score_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "common/app.h"
#include "experiment/reports/explanations/explanation_scores.h"
#include "explain/pass_printer.h"

namespace fovea::apps {

int score_explanations(explain::ScoreRequest asked, const std::filesystem::path& out, bool quiet) {
  install_stop_handlers("explain");
  begin_work();
  std::optional<explain::ScoredRuns> scored;
  {
    PassPrinter printer("explanations", quiet);
    asked.note = [&](const std::string& line) { printer.noted(line); };
    asked.progress = [&](std::int64_t done, std::int64_t total) {
      printer.progressed(done, total);
    };
    asked.stop = [] { return stop_requested().load(std::memory_order_relaxed); };
    scored = explain::score_runs(asked);
  }
  const experiment::ScoredTables tables = experiment::scored_tables(*scored);
  schema::Value noise;
  if (asked.noise)
    noise = schema::Value::object({{"type", asked.noise->type}, {"level", asked.noise->level}});
  const schema::Value settings =
      schema::Value::object({{"target", asked.target},
                             {"noise", noise},
                             {"seed", static_cast<std::int64_t>(asked.seed)},
                             {"random_seeds", asked.random_seeds},
                             {"batch_size", asked.batch_size},
                             {"options", schema::Value::array(asked.options)}});
  const std::vector<std::string> files =
      experiment::write_explanation_scores(out, *scored, tables, settings);
  fmt::print("{}", experiment::score_table_text(*scored, tables, false));
  if (!quiet) fmt::print("wrote {} in {}\n", fmt::join(files, ", "), out.string());
  return 0;
}

std::string score_lines() {
  std::string lines;
  for (const explain::ScoreEntry& score : explain::scores())
    lines += fmt::format("  {:<21} {}\n", score.name, score.help);
  return lines;
}

}  // namespace fovea::apps
