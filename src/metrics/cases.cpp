#include "metrics/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "metrics/classification.h"
#include "metrics/label_maps.h"
#include "metrics/surface.h"

namespace fovea::metrics {
namespace {

using CaseValues = std::vector<std::vector<double>>;  // by case and class but the background

bool is_overlap(const MetricInfo& info) { return info == kCaseDice || info == kCaseIou; }

// Under one policy.
CaseValues values_of(const MetricInfo& info, const std::vector<CaseScores>& cases,
                     EmptyMasks empty) {
  CaseValues values;
  for (const CaseScores& one : cases) {
    std::vector<double>& row = values.emplace_back();
    if (is_overlap(info)) {
      const auto share = info == kCaseDice ? case_dice : case_iou;
      const ClassCounts& n = one.counts;
      for (std::size_t c = 1; c < n.truth.size(); ++c)
        row.push_back(100 * share(n.truth[c], n.predicted[c], n.both[c], empty));
      continue;
    }
    for (const double distance : distances_of(info, one))
      row.push_back(case_distance(distance, empty));
  }
  return values;
}

// Columns of the table at these places of classes.
CaseValues columns_at(const CaseValues& values, const std::vector<std::size_t>& classes) {
  CaseValues taken;
  for (const std::vector<double>& row : values) {
    taken.emplace_back();
    for (const std::size_t c : classes) taken.back().push_back(row[c - 1]);
  }
  return taken;
}

// Of one case; `row` has the given classes.
double case_value(const std::vector<double>& row, const ClassCounts& counts,
                  const std::vector<std::size_t>& classes) {
  RunningMean mean;
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (!std::isnan(row[k])) {
      mean.add(row[k]);
    } else if (counts.truth[classes[k]] > 0) {
      return of_nothing(Empty::kLeftOut);
    }
  }
  return mean.weight() > 0 ? mean.value() : of_nothing(Empty::kLeftOut);
}

// 32-bit FNV-1a of what is there and what is not.
Coverage coverage_of(const CaseValues& values) {
  Coverage coverage;
  std::uint32_t hash = 2166136261u;
  for (const std::vector<double>& row : values) {
    for (const double value : row) {
      const bool there = !std::isnan(value);
      coverage.defined += there ? 1 : 0;
      ++coverage.compared;
      hash = (hash ^ (there ? 1u : 0u)) * 16777619u;
    }
  }
  if (!coverage.complete()) coverage.set = fmt::format("{:08x}", hash);
  return coverage;
}

// Of all cases and classes, from which a metric of some classes is made.
struct CaseTable {
  const MetricInfo& info;
  const std::vector<CaseScores>& cases;
  CaseValues values, strict;
};

CaseMeasurement measure(const CaseTable& table, const MetricInfo& named,
                        const std::vector<std::size_t>& classes) {
  const Empty none = is_overlap(table.info) ? Empty::kZero : Empty::kLeftOut;
  const CaseValues values = columns_at(table.values, classes);
  const CaseValues strict = columns_at(table.strict, classes);
  CaseMeasurement measured;
  measured.metric = {named, means_over_cases(values, none).mean, {}};
  for (std::size_t i = 0; i < table.cases.size(); ++i)
    measured.metric.per_sample.push_back(case_value(values[i], table.cases[i].counts, classes));
  measured.metric.of_volumes = !table.cases.empty() && !table.cases.front().volume.empty();
  // A distance that a rule puts 0 for was not measured.
  measured.metric.coverage = coverage_of(is_overlap(table.info) ? values : strict);
  measured.strict = means_over_cases(strict, none).mean;
  const Coverage defined = coverage_of(strict);
  measured.compared = defined.compared;
  measured.undefined = defined.compared - defined.defined;
  return measured;
}

}  // namespace

const std::vector<double>& distances_of(const MetricInfo& info, const CaseScores& one) {
  if (info == kHd95) return one.pixels.hd95;
  if (info == kHd) return one.pixels.hd;
  return info == kHd95Mm ? one.mm.hd95 : one.mm.hd;
}

bool CaseMetrics::has(const MetricInfo& info) const {
  return std::find(names.begin(), names.end(), info.name) != names.end();
}

std::vector<MetricInfo> case_metrics() { return {kCaseDice, kCaseIou, kHd95, kHd95Mm, kHd, kHdMm}; }

MetricInfo per_class(MetricInfo info) {
  info.name += "_*";
  return info;
}

std::vector<MetricInfo> case_metrics(const CaseMetrics& asked,
                                     const std::vector<std::string>& class_names) {
  const std::vector<MetricInfo> means = case_metrics(asked);
  std::vector<MetricInfo> infos = means;
  const std::vector<std::string> words = class_words(class_names);
  for (const MetricInfo& info : means) {
    if (words.empty()) infos.push_back(per_class(info));
    for (std::size_t c = 1; c < words.size(); ++c)
      infos.push_back(of_class(per_class(info), words[c]));
  }
  return infos;
}

bool leaves_out(const MetricInfo& info, EmptyMasks empty) {
  if (empty == EmptyMasks::kStrict) return true;
  const bool overlap = info.name.starts_with("case_");
  return overlap ? empty == EmptyMasks::kGdla : empty == EmptyMasks::kDformer;
}

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
    if (empty == EmptyMasks::kDformer) return predicted > 0 ? 0 : 1;
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
  const bool counts = empty == EmptyMasks::kGdla || empty == EmptyMasks::kTransUnet;
  return std::isnan(distance) && counts ? 0 : distance;
}

ClassCounts class_counts(const MaskCounts& n) {
  return {
      .truth = {n.true_negatives() + n.false_positives(), n.true_positives() + n.false_negatives()},
      .predicted = {n.true_negatives() + n.false_negatives(),
                    n.true_positives() + n.false_positives()},
      .both = {n.true_negatives(), n.true_positives()}};
}

ClassDistances class_distances(std::span<const std::int64_t> truth,
                               std::span<const std::int64_t> predicted, std::int64_t classes,
                               std::int64_t ignore, const Grid& grid) {
  LabelSets sets;
  for (std::int64_t c = 0; c < classes; ++c) sets.push_back({c});
  return class_distances(truth, predicted, sets, ignore, grid);
}

ClassDistances class_distances(std::span<const std::int64_t> truth,
                               std::span<const std::int64_t> predicted, const LabelSets& sets,
                               std::int64_t ignore, const Grid& grid) {
  check_grid(truth.size(), grid);
  check_grid(predicted.size(), grid);
  ClassDistances distances;
  std::vector<std::uint8_t> there(truth.size()), found(truth.size());
  for (std::size_t c = 1; c < sets.size(); ++c) {
    const auto in_set = [&](std::int64_t label) {
      return std::find(sets[c].begin(), sets[c].end(), label) != sets[c].end();
    };
    for (std::size_t i = 0; i < truth.size(); ++i) {
      there[i] = in_set(truth[i]) ? 1 : 0;
      found[i] = truth[i] != ignore && in_set(predicted[i]) ? 1 : 0;
    }
    std::vector<double> all = surface_distances(there, found, grid);
    distances.hd.push_back(all.empty() ? of_nothing(Empty::kLeftOut)
                                       : *std::max_element(all.begin(), all.end()));
    distances.hd95.push_back(quantile(std::move(all), kHd95Share));
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
                                           const std::vector<CaseScores>& cases,
                                           const std::vector<std::string>& class_names) {
  // Without names the cases themselves say how many classes there are.
  std::vector<std::string> names = class_names;
  if (names.empty() && !cases.empty()) names.resize(cases.front().counts.truth.size());
  const std::vector<std::size_t> chosen =
      chosen_classes(class_names.empty() ? std::vector<std::string>() : asked.classes, names);
  std::vector<CaseMeasurement> means, of_classes;
  for (const MetricInfo& info : case_metrics(asked)) {
    const CaseTable table{info, cases, values_of(info, cases, asked.empty),
                          values_of(info, cases, EmptyMasks::kStrict)};
    means.push_back(measure(table, info, chosen));
    if (class_names.empty()) continue;
    const std::vector<std::string> words = class_words(class_names);
    for (std::size_t c = 1; c < words.size(); ++c) {
      of_classes.push_back(measure(table, of_class(per_class(info), words[c]), {c}));
      of_classes.back().of_class = true;
    }
  }
  means.insert(means.end(), of_classes.begin(), of_classes.end());
  return means;
}

}  // namespace fovea::metrics
