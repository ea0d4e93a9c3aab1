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
  EvalPrinter(const std::vector<experiment::Opened>& opened, const experiment::EvalRequest& request,
              bool quiet, bool watched);
  void noted(const std::string& note) override;
  void member_scored(const training::Metrics& metrics) override { members_.push_back(metrics); }
  void reported(const training::Report& report, const std::vector<std::string>& saved) override;
  void scored(const experiment::NoiseScore& score) override;
  /// What is known at the end: the means over all noise, and the files.
  void finish() const;

 private:
  void print_metrics(const training::Metrics& metrics) const;
  double mean_of(const std::string& type) const;

  training::Task& task() const { return opened_.front().run->task(); }

  const std::vector<experiment::Opened>& opened_;
  const experiment::EvalRequest& request_;
  bool quiet_;
  std::optional<training::StatusLine> status_;  // until the clean score is there
  metrics::MetricInfo main_;
  std::vector<training::Metrics> members_;  // of several runs
  double clean_ = 0;
  std::vector<std::string> saved_;
  std::vector<experiment::NoiseScore> scores_;
};

}  // namespace fovea::apps
