// What a run tells while it goes on. Training itself does not print; an app hands a stream down.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "training/status_line.h"

namespace fovea::training {

struct Progress {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;
  std::int64_t epoch = 0;
  std::int64_t epochs = 0;
  double loss = 0;
  double lr = 0;
  double samples_per_s = 0;
  double wait_share = 0;  // of the time, spent waiting for data
  std::int64_t peak_bytes = 0;
  double remaining_s = 0;
};

/// What an evaluation says.
struct Evaluated {
  std::string epoch;                // "epoch  3/10"
  std::string step;                 // "step 120/400"
  std::string split;                // "val"
  std::vector<std::string> values;  // "top1 84.31 %", the monitored metric first
};

class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  /// After every step.
  virtual void update(const Progress& progress) = 0;
  /// A line to be kept, as in log.txt.
  virtual void message(const std::string& line) = 0;
  /// An evaluation, of which log.txt has every metric; here it is one message.
  virtual void evaluated(const Evaluated& evaluation);
};

/// "epoch  1/10  step 120/400  loss  0.7310  lr 0.0003  812 samples/s  peak 1204 MiB  left 3 min 10
/// s", so that numbers of later lines stand under each other. Of what does not fit into the columns
/// the least important goes: waiting, memory, speed, rate, epoch.
std::string progress_line(const Progress& progress, std::size_t columns = 1000);
/// "epoch  3/10  step 120/400  val  top1  84.31 %  loss  0.4127": as many values as fit, at least
/// one and at most five, and how many more log.txt has. Where one does not fit, the step and then
/// the epoch are left out.
std::string evaluation_line(const Evaluated& evaluation, std::size_t columns = 1000);
/// "3 min 10 s".
std::string duration_text(double seconds);
/// A number at the width that a total has, "  3/100".
std::string count_of_total(std::int64_t count, std::int64_t total);

/// One redrawn line on a terminal, elsewhere a plain line every 30 seconds.
class StreamProgress final : public ProgressSink {
 public:
  /// columns: of the terminal.
  StreamProgress(
      std::ostream& out, bool terminal,
      std::function<std::size_t()> columns = [] { return std::size_t{80}; });
  void update(const Progress& progress) override;
  void message(const std::string& line) override;
  void evaluated(const Evaluated& evaluation) override;

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  std::optional<StatusLine> line_;  // of a terminal
  Clock::time_point next_;
};

}  // namespace fovea::training
