// What a run tells while it goes on. Training itself does not print; an app hands a stream down.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

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

class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  /// After every step.
  virtual void update(const Progress& progress) = 0;
  /// A line to be kept, as in log.txt.
  virtual void message(const std::string& line) = 0;
};

/// "step 120/400  loss 0.731  lr 0.0003  812 samples/s  peak 1204 MiB  left 3 min 10 s".
std::string progress_line(const Progress& progress);
/// "3 min 10 s".
std::string duration_text(double seconds);

/// One redrawn line on a terminal, elsewhere a plain line every 30 seconds.
class StreamProgress final : public ProgressSink {
 public:
  StreamProgress(std::ostream& out, bool terminal);
  ~StreamProgress() override;
  void update(const Progress& progress) override;
  void message(const std::string& line) override;

 private:
  using Clock = std::chrono::steady_clock;
  void clear_line();

  std::ostream& out_;
  bool terminal_;
  std::size_t drawn_ = 0;  // columns of the line on screen
  Clock::time_point next_;
};

}  // namespace fovea::training
