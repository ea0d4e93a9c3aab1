#include "metrics/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/error.h"
#include "metrics/classification.h"
#include "metrics/surface.h"

namespace fovea::metrics {
namespace {

using Values = std::vector<std::vector<double>>;

bool is_overlap(const MetricInfo& info) { return info == kCaseDice || info == kCaseIou; }

// By case and class but the background, under one policy.
Values values_of(const MetricInfo& info, const std::vector<CaseScores>& cases, EmptyMasks empty) {
  Values values;
  for (const CaseScores& one : cases) {
    std::vector<double>& row = values.emplace_back();
    if (is_overlap(info)) {
      const auto share = info == kCaseDice ? case_dice : case_iou;
      const ClassCounts& n = one.counts;
      for (std::size_t c = 1; c < n.truth.size(); ++c)
        row.push_back(100 * share(n.truth[c], n.predicted[c], n.both[c], empty));
      continue;
    }
    for (const double distance : info == kHd95 ? one.hd95 : one.hd95_mm)
      row.push_back(case_distance(distance, empty));
  }
  return values;
}

// Of one case; `row` has the classes but the background.
double case_value(const std::vector<double>& row, const ClassCounts& counts) {
  RunningMean mean;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (!std::isnan(row[c])) {
      mean.add(row[c]);
    } else if (counts.truth[c + 1] > 0) {
      return of_nothing(Empty::kLeftOut);
    }
  }
  return mean.weight() > 0 ? mean.value() : of_nothing(Empty::kLeftOut);
}

CaseMeasurement measure(const MetricInfo& info, const std::vector<CaseScores>& cases,
                        EmptyMasks empty) {
  const Empty none = is_overlap(info) ? Empty::kZero : Empty::kLeftOut;
  const Values strict = values_of(info, cases, EmptyMasks::kStrict);
  const Values values = values_of(info, cases, empty);
  CaseMeasurement measured;
  measured.metric = {info, means_over_cases(values, none).mean, {}};
  for (std::size_t i = 0; i < cases.size(); ++i)
    measured.metric.per_sample.push_back(case_value(values[i], cases[i].counts));
  measured.metric.of_volumes = !cases.empty() && !cases.front().volume.empty();
  measured.strict = means_over_cases(strict, none).mean;
  for (const std::vector<double>& row : strict) {
    measured.compared += std::ssize(row);
    measured.undefined +=
        std::count_if(row.begin(), row.end(), [](double value) { return std::isnan(value); });
  }
  return measured;
}

}  // namespace

bool CaseMetrics::has(const MetricInfo& info) const {
  return std::find(names.begin(), names.end(), info.name) != names.end();
}

std::vector<MetricInfo> case_metrics() { return {kCaseDice, kCaseIou, kHd95, kHd95Mm}; }

std::vector<MetricInfo> case_metrics(const CaseMetrics& asked) {
  std::vector<MetricInfo> infos = case_metrics();
  std::vector<std::string> known;
  for (const MetricInfo& info : infos) known.push_back(info.name);
  for (const std::string& name : asked.names) {
    FOVEA_CHECK(std::find(known.begin(), known.end(), name) != known.end(), ConfigError,
                fmt::format("eval.metrics: no metric called \"{}\"; expected some of {}", name,
                            fmt::join(known, ", ")));
  }
  std::erase_if(infos, [&](const MetricInfo& info) { return !asked.has(info); });
  return infos;
}

double case_dice(std::int64_t truth, std::int64_t predicted, std::int64_t both, EmptyMasks empty) {
  if (truth == 0) {
    if (empty != EmptyMasks::kTransUnet) return of_nothing(Empty::kLeftOut);
    return predicted > 0 ? 1 : 0;
  }
  return 2 * static_cast<double>(both) / static_cast<double>(truth + predicted);
}

double case_iou(std::int64_t truth, std::int64_t predicted, std::int64_t both, EmptyMasks empty) {
  const double dice = case_dice(truth, predicted, both, empty);
  return dice / (2 - dice);
}

double case_distance(double distance, EmptyMasks empty) {
  return std::isnan(distance) && empty != EmptyMasks::kStrict ? 0 : distance;
}

ClassCounts class_counts(const MaskCounts& n) {
  return {
      .truth = {n.true_negatives() + n.false_positives(), n.true_positives() + n.false_negatives()},
      .predicted = {n.true_negatives() + n.false_negatives(),
                    n.true_positives() + n.false_positives()},
      .both = {n.true_negatives(), n.true_positives()}};
}

std::vector<double> class_hd95(std::span<const std::int64_t> truth,
                               std::span<const std::int64_t> predicted, std::int64_t classes,
                               std::int64_t ignore, const Grid& grid) {
  check_grid(truth.size(), grid);
  check_grid(predicted.size(), grid);
  std::vector<double> distances;
  std::vector<std::uint8_t> there(truth.size()), found(truth.size());
  for (std::int64_t c = 1; c < classes; ++c) {
    for (std::size_t i = 0; i < truth.size(); ++i) {
      there[i] = truth[i] == c ? 1 : 0;
      found[i] = truth[i] != ignore && predicted[i] == c ? 1 : 0;
    }
    distances.push_back(hd95(there, found, grid));
  }
  return distances;
}

ClassMeans means_over_cases(const std::vector<std::vector<double>>& cases, Empty none) {
  const std::size_t classes = cases.empty() ? 0 : cases.front().size();
  ClassMeans means;
  RunningMean all;
  const auto settled = [&](const RunningMean& mean) {
    return mean.weight() > 0 ? mean.value() : of_nothing(none);
  };
  for (std::size_t c = 0; c < classes; ++c) {
    RunningMean of_class;
    for (const std::vector<double>& row : cases)
      if (!std::isnan(row[c])) of_class.add(row[c]);
    means.of_class.push_back(settled(of_class));
    if (!std::isnan(means.of_class.back())) all.add(means.of_class.back());
  }
  means.mean = settled(all);
  return means;
}

std::vector<CaseMeasurement> measure_cases(const CaseMetrics& asked,
                                           const std::vector<CaseScores>& cases) {
  std::vector<CaseMeasurement> measured;
  for (const MetricInfo& info : case_metrics(asked))
    measured.push_back(measure(info, cases, asked.empty));
  return measured;
}

}  // namespace fovea::metrics
