#include "eval/printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "common/app.h"
#include "training/progress.h"

namespace fovea::apps {

EvalPrinter::EvalPrinter(const std::vector<experiment::Opened>& opened,
                         const experiment::EvalRequest& request, bool quiet, bool watched)
    : opened_(opened), request_(request), quiet_(quiet), main_(task().headline()) {
  if (!watched) return;
  status_.emplace(std::cerr, terminal_columns);
  task().source().watch([this](std::int64_t done, std::int64_t total) {
    status_->show(fmt::format("{}  batch {}", data::name_of(request_.report.split),
                              training::count_of_total(done, total)));
  });
}

void EvalPrinter::noted(const std::string& note) { fmt::print(stderr, "note: {}\n", note); }

// A line a metric; of several runs a column each, and one for their mean.
void EvalPrinter::print_metrics(const training::Metrics& metrics) const {
  std::size_t width = 14;
  for (const metrics::Measurement& metric : metrics)
    width = std::max(width, metric.info.name.size());
  if (!members_.empty()) {
    fmt::print("  {:<{}}", "", width);
    for (std::size_t r = 0; r < members_.size(); ++r)
      fmt::print("{:>12}", fmt::format("run {}", r + 1));
    fmt::print("{:>12}\n", "ensemble");
  }
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const auto text = [&](const training::Metrics& of) {
      return metrics::value_text(of[m].info, of[m].value);
    };
    const std::string coverage = metrics::coverage_text(metrics[m].coverage);
    fmt::print("  {:<{}}", metrics[m].info.name, width);
    for (const training::Metrics& member : members_) fmt::print("{:>12}", text(member));
    fmt::print(" {:>{}}{}\n", text(metrics), members_.empty() ? 0 : 11, coverage);
  }
}

void EvalPrinter::reported(const training::Report& report, const std::vector<std::string>& saved) {
  clean_ = metrics::value_of(report.metrics, main_.name);
  saved_ = saved;
  if (status_) {
    task().source().watch({});
    status_->clear();
    status_.reset();
  }
  if (quiet_) return;
  const experiment::Opened& first = opened_.front();
  const bool alone = opened_.size() == 1;
  fmt::print("{} ({} samples of {}, {})\n", first.run->experiment().name, report.indices.size(),
             data::name_of(request_.report.split),
             alone ? first.weights.text()
                   : fmt::format("the mean of the probabilities of {} runs", opened_.size()));
  for (std::size_t r = 0; !alone && r < opened_.size(); ++r)
    fmt::print("  run {}: {} ({})\n", r + 1, request_.runs[r], opened_[r].weights.text());
  if (!first.weights.random_text.empty()) fmt::print("  {}\n", first.weights.random_text);
  for (const std::string& line : request_.interventions.lines())
    fmt::print("  changed: {}\n", line);
  if (const auto& options = task().postprocessing().options; !options.empty())
    fmt::print("  post-processing: {}\n", options.text());
  print_metrics(report.metrics);
  for (const std::string& line : report.lines) fmt::print("  {}\n", line);
  if (request_.noise.empty()) return;
  fmt::print("\n{:<15}", metrics::title_of(main_));
  for (const double level : request_.noise.levels) fmt::print("{:>8}", fmt::format("{:g}", level));
  fmt::print("{:>9}\n", "mean");
}

double EvalPrinter::mean_of(const std::string& type) const {
  for (const auto& [name, mean] : experiment::noise_means(scores_, main_, clean_).by_type) {
    if (name == type) return mean;
  }
  return 0;
}

// A line a type, a number at a time.
void EvalPrinter::scored(const experiment::NoiseScore& score) {
  scores_.push_back(score);
  if (!quiet_) {
    if (score.level == request_.noise.levels.front()) fmt::print("{:<15}", score.type);
    fmt::print("{:>8.{}f}", score.value, main_.decimals);
    if (score.level == request_.noise.levels.back())
      fmt::print("{:>9.{}f}\n", mean_of(score.type), main_.decimals);
    std::cout.flush();
  }
  FOVEA_CHECK(!stop_requested(), Interrupted, "stopped; results.json was not written");
}

void EvalPrinter::finish() const {
  if (!request_.noise.empty()) {
    const experiment::NoiseMeans means = experiment::noise_means(scores_, main_, clean_);
    fmt::print("{:<15}{} corrupted, {} clean, retention {:.3f}\n", "mean",
               metrics::value_text(main_, means.mean), metrics::value_text(main_, clean_),
               means.retention);
  }
  for (const std::string& file : saved_)
    fmt::print("saved {}\n", (request_.report.folder / file).string());
  fmt::print("written to {}\n", request_.report.folder.string());
}

}  // namespace fovea::apps
