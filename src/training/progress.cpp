#include "training/progress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fovea::training {
namespace {

constexpr std::size_t kMostValues = 5;  // of an evaluation, on the screen

// "3m10s", where there is no room for words.
std::string short_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 86400) return fmt::format("{}d{}h", whole / 86400, whole % 86400 / 3600);
  if (whole >= 3600) return fmt::format("{}h{}m", whole / 3600, whole % 3600 / 60);
  return whole >= 60 ? fmt::format("{}m{}s", whole / 60, whole % 60) : fmt::format("{}s", whole);
}

// Four digits behind the point where these say something.
std::string loss_text(double loss) {
  const double size = std::abs(loss);
  const bool plain = size == 0 || (size >= 1e-3 && size < 1e4);
  return fmt::format("{:>7}", plain ? fmt::format("{:.4f}", loss) : fmt::format("{:.2e}", loss));
}

// One part of the line. Those with a higher number are left out first.
struct ProgressPart {
  int given_up = 0;
  std::string text;
};

std::string joined(const std::vector<ProgressPart>& parts, int least_given_up) {
  std::vector<std::string> texts;
  for (const ProgressPart& part : parts) {
    if (part.given_up < least_given_up) texts.push_back(part.text);
  }
  return fmt::format("{}", fmt::join(texts, "  "));
}

}  // namespace

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 86400) return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
  if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

std::string count_of_total(std::int64_t count, std::int64_t total) {
  const std::string all = fmt::format("{}", total);
  return fmt::format("{:>{}}/{}", count, all.size(), all);
}

std::string progress_line(const Progress& p, std::size_t columns) {
  const std::string step = count_of_total(p.step, p.total_steps);
  const std::string loss = "loss " + loss_text(p.loss);
  std::vector<ProgressPart> parts = {
      {1, "epoch " + count_of_total(p.epoch + 1, p.epochs)},
      {0, "step " + step},
      {0, loss},
      {2, fmt::format("lr {:<8}", fmt::format("{:.3g}", p.lr))},
      {3, fmt::format("{:>6} samples/s", fmt::format("{:.{}f}", p.samples_per_s,
                                                     p.samples_per_s < 1     ? 3
                                                     : p.samples_per_s < 100 ? 1
                                                                             : 0))},
      {4, fmt::format("peak {} MiB", (p.peak_bytes + (1 << 20) - 1) >> 20)},
      {0, "left " + duration_text(p.remaining_s)}};
  // Below this the waiting is noise.
  if (p.wait_share >= 0.05)
    parts.push_back({5, fmt::format("waiting for data {:.0f} %", 100 * p.wait_share)});
  for (int kept = 6; kept > 0; --kept) {
    const std::string line = joined(parts, kept);
    if (columns_of(line) <= columns) return line;
  }
  const std::string left = short_duration(p.remaining_s);
  for (const std::string& line : {fmt::format("{}  {}  left {}", step, loss, left),
                                  fmt::format("{}  {}  {}", step, loss, left)}) {
    if (columns_of(line) <= columns) return line;
  }
  return cut_to_columns(fmt::format("{}  {}", step, loss), columns);
}

std::string evaluation_line(const Evaluated& e, std::size_t columns) {
  const std::size_t all = e.values.size();
  const auto line = [&](const std::string& when, std::size_t count, const char* where) {
    std::string text = when + e.split;
    for (std::size_t i = 0; i < count; ++i) text += "  " + e.values[i];
    if (count < all) text += fmt::format("  (+{}{})", all - count, where);
    return text;
  };
  const std::string epoch = e.epoch + "  ";
  for (const std::string& when : {epoch + e.step + "  ", epoch}) {
    for (std::size_t count = std::min(all, kMostValues); count > 0; --count) {
      std::string text = line(when, count, " in log.txt");
      if (columns_of(text) <= columns) return text;
    }
  }
  // Which epoch it was says more than how many metrics are left out.
  const std::size_t one = std::min<std::size_t>(all, 1);
  const std::string value = one > 0 ? "  " + e.values[0] : "";
  for (const std::string& text : {line(epoch, one, ""), epoch + e.split + value, line("", one, "")})
    if (columns_of(text) <= columns) return text;
  return cut_to_columns(line("", one, ""), columns);
}

void ProgressSink::evaluated(const Evaluated& evaluation) { message(evaluation_line(evaluation)); }

StreamProgress::StreamProgress(std::ostream& out, bool terminal,
                               std::function<std::size_t()> columns)
    : out_(out), next_(terminal ? Clock::now() : Clock::now() + std::chrono::seconds(30)) {
  if (terminal) line_.emplace(out, std::move(columns));
}

void StreamProgress::update(const Progress& progress) {
  const auto now = Clock::now();
  if (now < next_ && progress.step != progress.total_steps) return;
  if (line_) {
    line_->show(progress_line(progress, line_->room()));
    next_ = now + std::chrono::milliseconds(100);
  } else {
    out_ << progress_line(progress) << "\n" << std::flush;
    next_ = now + std::chrono::seconds(30);
  }
}

void StreamProgress::message(const std::string& line) {
  if (line_) return line_->keep(line);
  out_ << line << "\n" << std::flush;
}

void StreamProgress::evaluated(const Evaluated& evaluation) {
  message(line_ ? evaluation_line(evaluation, line_->room()) : evaluation_line(evaluation));
}

}  // namespace fovea::training
