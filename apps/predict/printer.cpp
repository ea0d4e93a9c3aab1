#include "predict/printer.h"

#include <fmt/format.h>

#include <iostream>

#include "common/app.h"
#include "training/progress.h"

namespace fovea::apps {
namespace {

constexpr std::chrono::seconds kBetweenLines{30};

}  // namespace

PredictPrinter::PredictPrinter(bool quiet)
    : quiet_(quiet), begin_(Clock::now()), next_(begin_ + kBetweenLines) {
  if (stderr_is_terminal() && !quiet) status_.emplace(std::cerr, terminal_columns);
}

void PredictPrinter::keep(const std::string& line) {
  status_ ? status_->keep(line) : fmt::print(stderr, "{}\n", line);
}

void PredictPrinter::noted(const std::string& note) { keep("note: " + note); }

void PredictPrinter::failed(const std::string& message) { keep("predict: " + message); }

std::string PredictPrinter::line() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  const double rate = seconds > 0 ? static_cast<double>(done_ - before_) / seconds : 0;
  std::string text =
      total_ > 0 ? training::count_of_total(done_, total_) : fmt::format("{}", done_);
  text += fmt::format("  {:.3g}/s", rate);
  if (total_ > done_ && rate > 0)
    text += fmt::format("  left {}",
                        training::duration_text(static_cast<double>(total_ - done_) / rate));
  return text;
}

void PredictPrinter::progressed(std::int64_t done, std::int64_t total) {
  done_ = done;
  total_ = total;
  if (quiet_) return;
  if (status_) {
    status_->show(line());
  } else if (Clock::now() >= next_) {
    keep(line());
    next_ = Clock::now() + kBetweenLines;
  }
}

bool PredictPrinter::stops() { return stop_requested(); }

void PredictPrinter::finish() {
  if (status_) status_->clear();
  status_.reset();
  if (!quiet_ && done_ > 0) keep(line());
}

}  // namespace fovea::apps
