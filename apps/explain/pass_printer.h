// How far a long explanation has come.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "training/status_line.h"

namespace fovea::apps {

/// On a terminal one line that is redrawn, elsewhere one every 30 seconds.
class PassPrinter {
 public:
  /// `unit`: of what is counted, "explanations".
  PassPrinter(std::string unit, bool quiet);
  ~PassPrinter();
  PassPrinter(const PassPrinter&) = delete;
  PassPrinter& operator=(const PassPrinter&) = delete;

  void noted(const std::string& note);
  void progressed(std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  void keep(const std::string& line);

  std::string unit_;
  bool quiet_;
  std::optional<training::StatusLine> status_;  // of a terminal
  Clock::time_point begin_ = Clock::now(), next_ = begin_ + std::chrono::seconds(30);
};

}  // namespace fovea::apps
