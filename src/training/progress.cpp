#include "training/progress.h"

#include <fmt/format.h>

#include <cmath>

namespace fovea::training {

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 86400) return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
  if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

std::string progress_line(const Progress& p) {
  std::string line = fmt::format(
      "epoch {}/{}  step {}/{}  loss {:.4g}  lr {:.3g}  {:.4g} samples/s  peak {} MiB  left {}",
      p.epoch + 1, p.epochs, p.step, p.total_steps, p.loss, p.lr, p.samples_per_s,
      (p.peak_bytes + (1 << 20) - 1) >> 20, duration_text(p.remaining_s));
  // Below this the waiting is noise.
  if (p.wait_share >= 0.05) line += fmt::format("  waiting for data {:.0f} %", 100 * p.wait_share);
  return line;
}

StreamProgress::StreamProgress(std::ostream& out, bool terminal)
    : out_(out),
      terminal_(terminal),
      next_(terminal ? Clock::now() : Clock::now() + std::chrono::seconds(30)) {}

StreamProgress::~StreamProgress() {
  if (drawn_ > 0) out_ << "\n" << std::flush;
}

void StreamProgress::clear_line() {
  if (drawn_ > 0) out_ << "\r" << std::string(drawn_, ' ') << "\r";
  drawn_ = 0;
}

void StreamProgress::update(const Progress& progress) {
  const auto now = Clock::now();
  if (now < next_ && progress.step != progress.total_steps) return;
  const std::string line = progress_line(progress);
  if (terminal_) {
    clear_line();
    out_ << line << std::flush;
    drawn_ = line.size();
    next_ = now + std::chrono::milliseconds(100);
  } else {
    out_ << line << "\n" << std::flush;
    next_ = now + std::chrono::seconds(30);
  }
}

void StreamProgress::message(const std::string& line) {
  clear_line();
  out_ << line << "\n" << std::flush;
}

}  // namespace fovea::training
