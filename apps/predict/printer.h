// What predict says on stderr while it goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "experiment/inference/prediction.h"
#include "training/status_line.h"

namespace fovea::apps {

/// On a terminal one line that is redrawn, elsewhere one every 30 seconds and at the end: how many
/// inputs are done, how many a second, and the time left where the number of all is known.
class PredictPrinter final : public experiment::PredictObserver {
 public:
  /// quiet: failed inputs and notes alone.
  explicit PredictPrinter(bool quiet);
  void noted(const std::string& note) override;
  void continued(std::int64_t done) override { before_ = done; }
  void failed(const std::string& message) override;
  void progressed(std::int64_t done, std::int64_t total) override;
  bool stops() override;
  /// Nothing more comes.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void keep(const std::string& line);
  std::string line() const;

  bool quiet_;
  std::optional<training::StatusLine> status_;  // of a terminal
  Clock::time_point begin_, next_;
  std::int64_t done_ = 0, total_ = 0;
  std::int64_t before_ = 0;  // done by the pass that is continued
};

}  // namespace fovea::apps
