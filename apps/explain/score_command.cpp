#include "explain/score_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <iostream>
#include <optional>

#include "common/app.h"
#include "experiment/reports/explanations/explanation_scores.h"
#include "training/progress.h"
#include "training/status_line.h"

namespace fovea::apps {
namespace {

using Clock = std::chrono::steady_clock;

// On a terminal one line that is redrawn, elsewhere one every 30 seconds.
class ScorePrinter {
 public:
  explicit ScorePrinter(bool quiet) : quiet_(quiet) {
    if (stderr_is_terminal() && !quiet) status_.emplace(std::cerr, terminal_columns);
  }
  ~ScorePrinter() {
    if (status_) status_->clear();
  }

  void noted(const std::string& note) {
    if (!quiet_) keep("note: " + note);
  }

  void progressed(std::int64_t done, std::int64_t total) {
    const auto now = Clock::now();
    if (quiet_ || now < next_) return;
    next_ = now + (status_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(30000));
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    std::string line = training::count_of_total(done, total) + " explanations";
    if (rate > 0)
      line += fmt::format("  {:.3g}/s  left {}", rate,
                          training::duration_text(static_cast<double>(total - done) / rate));
    status_ ? status_->show(line) : keep(line);
  }

 private:
  void keep(const std::string& line) {
    status_ ? status_->keep(line) : fmt::print(stderr, "{}\n", line);
  }

  bool quiet_;
  std::optional<training::StatusLine> status_;  // of a terminal
  Clock::time_point begin_ = Clock::now(), next_ = begin_ + std::chrono::seconds(30);
};

}  // namespace

int score_explanations(explain::ScoreRequest asked, const std::filesystem::path& out, bool quiet) {
  install_stop_handlers("explain");
  begin_work();
  std::optional<explain::ScoredRuns> scored;
  {
    ScorePrinter printer(quiet);
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
