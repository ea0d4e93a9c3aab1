// What a metric of case_metrics.def is to the list of them. A metric is one source file, which ends
// in FOVEA_CASE_METRIC, and one line in case_metrics.def; options, tables, columns of files and
// names of classes come from the list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metrics/cases.h"
#include "schema/registry.h"

namespace fovea::metrics {

/// Whether a metric measures lengths, and in which unit.
enum class Lengths { kNone, kPixels, kMillimetres };

/// How a metric is computed for one class of one case.
struct CaseRule {
  std::string unit;
  bool larger_is_better = true;
  /// From the pixels (or voxels) of the class, a share of 1, which tables have in percent. NaN
  /// where the rule for empty masks leaves the class out. In a mean over classes one that no case
  /// has counts 0 where larger is better (gdla 7). A share that is made of the masks, by one of
  /// those below, says here what it is where either mask is empty.
  double (*share)(std::int64_t truth, std::int64_t predicted, std::int64_t both,
                  EmptyMasks empty) = nullptr;
  /// From the distances between the borders of truth and prediction (surface_distances()), at
  /// least one; case_distance() says what it is where either mask is empty.
  double (*distance)(const std::vector<double>& distances) = nullptr;
  /// From two masks that are not empty. tolerance: in pixels or millimetres, by `lengths`.
  double (*masks)(std::span<const std::uint8_t> truth, std::span<const std::uint8_t> predicted,
                  const Grid& grid, double tolerance) = nullptr;
  Lengths lengths = Lengths::kNone;
};

struct CaseMetricEntry : schema::Choice {
  static constexpr const char* kKind = "case metric";
  CaseRule rule;

  MetricInfo info() const;
  bool is_of_masks() const { return rule.distance != nullptr || rule.masks != nullptr; }
  bool is_share() const { return rule.share != nullptr; }
  bool needs_spacing() const { return rule.lengths == Lengths::kMillimetres; }
  /// Of a share, in tables of single cases: the name without "case_".
  std::string share_name() const;
  /// Of one case and class.
  double share(const ClassCounts& counts, std::size_t c, EmptyMasks empty) const {
    return rule.share(counts.truth[c], counts.predicted[c], counts.both[c], empty);
  }
};

/// All of case_metrics.def, and what was added since.
schema::Registry<CaseMetricEntry>& case_metric_entries();
/// Those asked for, each once, in the order of the list. Throws ConfigError for an unknown name.
std::vector<const CaseMetricEntry*> asked_entries(const CaseMetrics& asked);
/// Of a metric in millimetres the same one in pixels; null where there is none.
const CaseMetricEntry* in_pixels(const CaseMetricEntry& entry);

}  // namespace fovea::metrics

/// FOVEA_CASE_METRIC(name, help, {CaseRule}): defines the entry that a line of case_metrics.def
/// refers to. Inside namespace fovea::metrics.
#define FOVEA_CASE_METRIC(name, help, ...)                 \
  CaseMetricEntry case_metric_entry_##name() {             \
    return {{#name, help, nullptr}, CaseRule __VA_ARGS__}; \
  }
