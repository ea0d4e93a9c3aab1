#include "explain/pass_printer.h"

#include <fmt/format.h>

#include <iostream>
#include <utility>

#include "common/app.h"
#include "training/progress.h"

namespace fovea::apps {

PassPrinter::PassPrinter(std::string unit, bool quiet) : unit_(std::move(unit)), quiet_(quiet) {
  if (stderr_is_terminal() && !quiet) status_.emplace(std::cerr, terminal_columns);
}

PassPrinter::~PassPrinter() {
  if (status_) status_->clear();
}

void PassPrinter::noted(const std::string& note) {
  if (!quiet_) keep("note: " + note);
}

void PassPrinter::progressed(std::int64_t done, std::int64_t total) {
  const auto now = Clock::now();
  if (quiet_ || now < next_) return;
  next_ = now + (status_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(30000));
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string line = training::count_of_total(done, total) + " " + unit_;
  if (rate > 0)
    line += fmt::format("  {:.3g}/s  left {}", rate,
                        training::duration_text(static_cast<double>(total - done) / rate));
  status_ ? status_->show(line) : keep(line);
}

void PassPrinter::keep(const std::string& line) {
  status_ ? status_->keep(line) : fmt::print(stderr, "{}\n", line);
}

}  // namespace fovea::apps
