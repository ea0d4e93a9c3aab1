// The line that a terminal shows while a run goes on, on a terminal that is read back here.
#include "training/progress.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

using namespace fovea;
using training::Evaluated;
using training::Progress;

namespace {

Progress some_progress() {
  Progress progress;
  progress.step = 120;
  progress.total_steps = 4000;
  progress.epochs = 100;
  progress.loss = 0.731;
  progress.lr = 3e-4;
  progress.samples_per_s = 812.4;
  progress.peak_bytes = std::int64_t{1204} << 20;
  progress.remaining_s = 190;
  progress.wait_share = 0.12;
  return progress;
}

const Evaluated kEvaluated{"epoch  3/10",
                           "step 120/400",
                           "val",
                           {"top1  84.31 %", "loss  0.4127", "top5  99.10 %", "nll  0.3001",
                            "ece  0.0210", "brier  0.1", "auroc  0.99"}};

// What a terminal of so many columns shows after these bytes: text wraps at the last column, and of
// the escapes those are known that a status line uses.
std::vector<std::string> screen_after(const std::string& bytes, std::size_t columns) {
  std::vector<std::string> rows(1);
  std::size_t row = 0, column = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (c == '\r') {
      column = 0;
    } else if (c == '\n') {
      column = 0;
      if (++row == rows.size()) rows.emplace_back();
    } else if (c == '\x1b') {
      REQUIRE(bytes[i + 1] == '[');
      const char what = bytes[i + 2];
      REQUIRE((what == 'K' || what == 'A'));
      if (what == 'K') rows[row].resize(std::min(rows[row].size(), column));
      if (what == 'A') row -= row > 0 ? 1 : 0;
      i += 2;
    } else {
      if (column == columns) {
        column = 0;
        if (++row == rows.size()) rows.emplace_back();
      }
      rows[row].resize(std::max(rows[row].size(), column + 1), ' ');
      rows[row][column++] = c;
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("progress: numbers stand under each other, and what is worth least goes first",
          "[training]") {
  Progress progress = some_progress();
  CHECK(
      training::progress_line(progress) ==
      "epoch   1/100  step  120/4000  loss  0.7310  lr 0.0003       812 samples/s  peak 1204 MiB  "
      "left 3 min 10 s  waiting for data 12 %");
  CHECK(training::progress_line(progress, 79) ==
        "epoch   1/100  step  120/4000  loss  0.7310  lr 0.0003    left 3 min 10 s");
  CHECK(training::progress_line(progress, 39) == " 120/4000  loss  0.7310  left 3m10s");
  for (std::size_t columns = 10; columns < 200; ++columns)
    CHECK(training::columns_of(training::progress_line(progress, columns)) <= columns);
  const std::string before = training::progress_line(progress);
  progress.step = 3999;
  progress.epoch = 99;
  progress.loss = 12.5;
  progress.samples_per_s = 1812;
  CHECK(training::progress_line(progress).size() == before.size());
  CHECK(training::duration_text(3725) == "1 h 2 min");
  CHECK(training::duration_text(-1) == "?");
}

TEST_CASE("progress: an evaluation shows the metric that chooses and a few more", "[training]") {
  CHECK(training::evaluation_line(kEvaluated) ==
        "epoch  3/10  step 120/400  val  top1  84.31 %  loss  0.4127  top5  99.10 %  nll  0.3001  "
        "ece  0.0210  (+2 in log.txt)");
  CHECK(training::evaluation_line(kEvaluated, 79) ==
        "epoch  3/10  step 120/400  val  top1  84.31 %  loss  0.4127  (+5 in log.txt)");
  CHECK(training::evaluation_line(kEvaluated, 50) ==
        "epoch  3/10  val  top1  84.31 %  (+6 in log.txt)");
  CHECK(training::evaluation_line(kEvaluated, 39) == "epoch  3/10  val  top1  84.31 %  (+6)");
  CHECK(training::evaluation_line(kEvaluated, 33) == "epoch  3/10  val  top1  84.31 %");
  CHECK(training::evaluation_line(kEvaluated, 30) == "val  top1  84.31 %  (+6)");
  for (std::size_t columns = 5; columns < 200; ++columns)
    CHECK(training::columns_of(training::evaluation_line(kEvaluated, columns)) <= columns);
}

TEST_CASE("progress: one redrawn line on a terminal of any width, none elsewhere", "[training]") {
  std::ostringstream file;
  {
    training::StreamProgress to_file(file, false);
    to_file.update(some_progress());
    to_file.message("evaluated");
  }
  CHECK(file.str() == "evaluated\n");
  for (const std::size_t columns : {40, 80, 200}) {
    std::ostringstream terminal;
    {
      training::StreamProgress progress(terminal, true, [&] { return columns; });
      Progress last = some_progress();
      last.step = last.total_steps;  // which is always shown
      progress.update(some_progress());
      progress.update(last);
      progress.evaluated(kEvaluated);
      progress.update(last);
      progress.update(last);
    }
    const std::vector<std::string> screen = screen_after(terminal.str(), columns);
    INFO(columns);
    REQUIRE(screen.size() == 3);  // the evaluation, the progress, and where the prompt comes
    CHECK_THAT(screen[0], Catch::Contains("val  top1  84.31 %"));
    CHECK_THAT(screen[1], Catch::Contains("4000/4000"));
    CHECK(screen[2].empty());
  }
}

TEST_CASE("status line: leaves nothing behind where the terminal became narrower", "[training]") {
  std::ostringstream terminal;
  std::size_t columns = 100;
  {
    training::StatusLine line(terminal, [&] { return columns; });
    line.show(std::string(90, 'x'));
    const std::string wide = terminal.str();
    columns = 40;
    // As such terminals do, its text is on three rows now.
    line.show("short");
    CHECK(terminal.str().substr(wide.size()) == "\r\x1b[K\x1b[A\r\x1b[K\x1b[A\r\x1b[Kshort");
  }
  CHECK(screen_after(terminal.str(), 40) == std::vector<std::string>{"short", "", ""});
  CHECK(training::cut_to_columns("größer", 4) == "grö…");
  CHECK(training::columns_of("größer") == 6);
  CHECK(training::cut_to_columns("abc", 3) == "abc");
}
