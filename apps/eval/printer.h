// What eval prints while it goes on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/inference/evaluation.h"
#include "training/status_line.h"

namespace fovea::apps {

class EvalPrinter final : public experiment::EvalObserver {
 public:
  /// Silent if `quiet`. watched: a line of stderr says how far the clean score has come. Throws
  /// Interrupted from scored() once a signal asks to stop.
  EvalPrinter(const experiment::Opened& opened, const experiment::EvalRequest& request, bool quiet,
              bool watched);
  void noted(const std::string& note) override;
  void reported(const training::Report& report, const std::vector<std::string>& saved) override;
  void scored(const experiment::NoiseScore& score) override;
  /// What is known at the end: the means over all noise, and the files.
  void finish() const;

 private:
  double mean_of(const std::string& type) const;

  const experiment::Opened& opened_;
  const experiment::EvalRequest& request_;
  bool quiet_;
  std::optional<training::StatusLine> status_;  // until the clean score is there
  metrics::MetricInfo main_;
  double clean_ = 0;
  std::vector<std::string> saved_;
  std::vector<experiment::NoiseScore> scores_;
};

}  // namespace fovea::apps
