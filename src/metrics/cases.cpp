#include "metrics/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "metrics/cases/case_metric.h"
#include "metrics/classification.h"
#include "metrics/label_maps.h"
#include "metrics/masks/cut_masks.h"
#include "metrics/masks/surface.h"

namespace fovea::metrics {

#define FOVEA_ENTRY(name) CaseMetricEntry case_metric_entry_##name();
#include "metrics/cases/case_metrics.def"
#undef FOVEA_ENTRY

namespace {

using CaseValues = std::vector<std::vector<double>>;  // by case and class but the background

// All values of a metric under one rule for empty masks.
CaseValues values_of(const CaseMetricEntry& entry, const std::vector<CaseScores>& cases,
                     EmptyMasks empty, std::size_t first) {
  CaseValues values;
  for (const CaseScores& one : cases) {
    std::vector<double>& row = values.emplace_back();
    for (std::size_t c = first; c < one.counts.truth.size(); ++c) {
      const double own = entry.is_of_masks() ? one.from_masks.at(entry.name)[c - first]
                                             : of_nothing(Empty::kLeftOut);
      if (!entry.is_share()) {
        row.push_back(case_distance(own, empty));
      } else {
        row.push_back(100 * (std::isnan(own) ? entry.share(one.counts, c, empty) : own));
      }
    }
  }
  return values;
}

// Whether a rule leaves undefined values out; otherwise it puts a number in their place.
bool leaves_out(const CaseValues& by_rule, const CaseValues& strict) {
  return coverage_of(by_rule) == coverage_of(strict);
}

// The columns of these classes.
CaseValues columns_at(const CaseValues& values, const std::vector<std::size_t>& classes,
                      std::size_t first) {
  CaseValues taken;
  for (const std::vector<double>& row : values) {
    taken.emplace_back();
    for (const std::size_t c : classes) taken.back().push_back(row[c - first]);
  }
  return taken;
}

// The value of one case: its mean over the given classes, of which `row` has the values.
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

// A metric's values for all cases and classes; means over some of the classes are made from it.
struct CaseTable {
  const CaseMetricEntry& entry;
  std::size_t first;  // class
  const std::vector<CaseScores>& cases;
  CaseValues values, strict;
};

CaseMeasurement measure(const CaseTable& table, const MetricInfo& named,
                        const std::vector<std::size_t>& classes, bool of_class = false) {
  const bool distance = !table.entry.is_share();
  // In a mean over classes a class that no case has counts 0 (gdla 7), which is no error; by itself
  // it has no value.
  const bool counts_zero = !distance && !of_class && table.entry.rule.larger_is_better;
  const Empty none = counts_zero ? Empty::kZero : Empty::kLeftOut;
  const CaseValues values = columns_at(table.values, classes, table.first);
  const CaseValues strict = columns_at(table.strict, classes, table.first);
  CaseMeasurement measured;
  measured.entry = &table.entry;
  measured.left_out = leaves_out(values, strict);
  measured.of_class = of_class;
  const ClassMeans means = means_over_cases(values, Empty::kLeftOut);
  if (counts_zero)
    measured.absent =
        std::ranges::count_if(means.of_class, [](double mean) { return std::isnan(mean); });
  measured.metric = {named, means_over_cases(values, none).mean, {}};
  for (std::size_t i = 0; i < table.cases.size(); ++i)
    measured.metric.per_sample.push_back(case_value(values[i], table.cases[i].counts, classes));
  measured.metric.of_volumes = !table.cases.empty() && !table.cases.front().volume.empty();
  // Where a rule replaces a missing distance by 0, the distance still counts as missing.
  measured.metric.coverage = coverage_of(distance ? strict : values);
  measured.strict = means_over_cases(strict, none).mean;
  const Coverage defined = coverage_of(strict);
  measured.compared = defined.compared;
  measured.undefined = defined.compared - defined.defined;
  return measured;
}

}  // namespace

schema::Registry<CaseMetricEntry>& case_metric_entries() {
  static schema::Registry<CaseMetricEntry> all = {
#define FOVEA_ENTRY(name) case_metric_entry_##name(),
#include "metrics/cases/case_metrics.def"
#undef FOVEA_ENTRY
  };
  return all;
}

MetricInfo CaseMetricEntry::info() const {
  return {.name = name,
          .unit = rule.unit,
          .larger_is_better = rule.larger_is_better,
          .decimals = 2,
          .per_sample = true};
}

std::string CaseMetricEntry::share_name() const {
  constexpr std::string_view kPrefix = "case_";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

const CaseMetricEntry* in_pixels(const CaseMetricEntry& entry) {
  for (const CaseMetricEntry& other : case_metric_entries())
    if (other.rule.lengths == Lengths::kPixels && other.rule.distance == entry.rule.distance &&
        other.rule.masks == entry.rule.masks)
      return &other;
  return nullptr;
}

bool CaseMetrics::has_pixel_distances() const {
  return std::ranges::any_of(asked_entries(*this), [](const CaseMetricEntry* entry) {
    return entry->rule.lengths == Lengths::kPixels;
  });
}

bool CaseMetrics::has_distances() const {
  return std::ranges::any_of(asked_entries(*this), [](const CaseMetricEntry* entry) {
    return entry->rule.lengths != Lengths::kNone;
  });
}

std::vector<MetricInfo> case_metrics() {
  std::vector<MetricInfo> infos;
  for (const CaseMetricEntry& entry : case_metric_entries()) infos.push_back(entry.info());
  return infos;
}

std::string case_metrics_help() {
  std::vector<std::string> lines;
  for (const CaseMetricEntry& entry : case_metric_entries())
    lines.push_back(entry.name + ": " + entry.help);
  return fmt::format("{}", fmt::join(lines, "; "));
}

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
    for (std::size_t c = asked.first_class; c < words.size(); ++c)
      infos.push_back(of_class(per_class(info), words[c]));
  }
  return infos;
}

std::vector<const CaseMetricEntry*> asked_entries(const CaseMetrics& asked) {
  std::vector<const CaseMetricEntry*> entries;
  std::vector<std::string> known;
  for (const CaseMetricEntry& entry : case_metric_entries()) {
    known.push_back(entry.name);
    if (std::ranges::count(asked.names, entry.name) > 0) entries.push_back(&entry);
  }
  for (const std::string& name : asked.names) {
    FOVEA_CHECK(std::find(known.begin(), known.end(), name) != known.end(), ConfigError,
                fmt::format("eval.metrics: no metric called \"{}\"; expected some of {}", name,
                            fmt::join(known, ", ")));
  }
  return entries;
}

std::vector<MetricInfo> case_metrics(const CaseMetrics& asked) {
  std::vector<MetricInfo> infos;
  for (const CaseMetricEntry* entry : asked_entries(asked)) infos.push_back(entry->info());
  return infos;
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

MaskValues mask_values(const std::vector<const CaseMetricEntry*>& metrics,
                       std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted,
                       const LabelSets& sets, std::int64_t ignore, const Grid& grid,
                       const CaseMetrics& asked) {
  check_grid(truth.size(), grid);
  check_grid(predicted.size(), grid);
  const bool distances = std::ranges::any_of(
      metrics, [](const CaseMetricEntry* entry) { return entry->rule.distance != nullptr; });
  MaskValues values;
  std::vector<std::uint8_t> there(truth.size()), found(truth.size());
  for (std::size_t c = asked.first_class; c < sets.size(); ++c) {
    const auto in_set = [&](std::int64_t label) {
      return std::find(sets[c].begin(), sets[c].end(), label) != sets[c].end();
    };
    for (std::size_t i = 0; i < truth.size(); ++i) {
      there[i] = in_set(truth[i]) ? 1 : 0;
      found[i] = truth[i] != ignore && in_set(predicted[i]) ? 1 : 0;
    }
    const bool both = !is_empty(there) && !is_empty(found);
    const std::vector<double> apart =
        both && distances ? surface_distances(there, found, grid) : std::vector<double>();
    for (const CaseMetricEntry* entry : metrics) {
      const double tolerance =
          entry->needs_spacing() ? asked.nsd_tolerance_mm : asked.nsd_tolerance;
      values[entry->name].push_back(!both ? of_nothing(Empty::kLeftOut)
                                    : entry->rule.distance != nullptr
                                        ? entry->rule.distance(apart)
                                        : entry->rule.masks(there, found, grid, tolerance));
    }
  }
  return values;
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
  // Without names the number of classes is that of the cases' counts.
  std::vector<std::string> names = class_names;
  if (names.empty() && !cases.empty()) names.resize(cases.front().counts.truth.size());
  const std::vector<std::size_t> chosen = chosen_classes(
      class_names.empty() ? std::vector<std::string>() : asked.classes, names, asked.first_class);
  std::vector<CaseMeasurement> means, of_classes;
  for (const CaseMetricEntry* entry : asked_entries(asked)) {
    const CaseTable table{*entry, asked.first_class, cases,
                          values_of(*entry, cases, asked.empty, asked.first_class),
                          values_of(*entry, cases, EmptyMasks::kStrict, asked.first_class)};
    const MetricInfo info = entry->info();
    means.push_back(measure(table, info, chosen));
    if (class_names.empty()) continue;
    const std::vector<std::string> words = class_words(class_names);
    for (std::size_t c = asked.first_class; c < words.size(); ++c) {
      of_classes.push_back(measure(table, of_class(per_class(info), words[c]), {c}, true));
    }
  }
  means.insert(means.end(), of_classes.begin(), of_classes.end());
  return means;
}

}  // namespace fovea::metrics
