// COCO's scores of detections: average precision and average recall of boxes or masks, equal to
// pycocotools' COCOeval. mala 8.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/detection/objects.h"
#include "metrics/metric_info.h"

namespace fovea::metrics {

/// Thresholds on the overlap: 0.5, 0.55, ... 0.95.
inline constexpr std::size_t kOverlapThresholds = 10;
double overlap_threshold(std::size_t index);
/// Recalls at which precision is taken: 0, 0.01, ... 1.
inline constexpr std::size_t kRecallPoints = 101;
double recall_point(std::size_t index);

/// Objects by area in pixels: any, below 32^2, from there to 96^2, above. Both ends belong to a
/// range.
enum class AreaRange { kAll, kSmall, kMedium, kLarge };
inline constexpr std::size_t kAreaRanges = 4;

/// So many detections of an image and class count, the highest scores first; ascending. Precision
/// is taken with the last number. Others than COCO's are for images with more objects.
using MaxDetections = std::array<std::int64_t, 3>;
inline constexpr MaxDetections kCocoMaxDetections = {1, 10, 100};

/// Precision and recall of a data set. A class without truth in a range of areas has none: NaN,
/// where pycocotools has -1.
class DetectionScores {
 public:
  /// Precision at each recall_point(): the best at that recall or a higher one, 0 where it is not
  /// reached.
  std::span<const double> precision(std::int64_t label, std::size_t threshold,
                                    AreaRange area = AreaRange::kAll) const;
  /// The share of the objects that was found with so many detections of an image: `most` is an
  /// index into MaxDetections.
  double recall(std::int64_t label, std::size_t threshold, AreaRange area = AreaRange::kAll,
                std::size_t most = 2) const;
  /// Objects of the truth that are no crowds.
  std::int64_t objects(std::int64_t label, AreaRange area = AreaRange::kAll) const;

  /// Of one class the mean of its precision over recalls and thresholds, or at one threshold.
  double average_precision(std::int64_t label, AreaRange area = AreaRange::kAll,
                           std::optional<std::size_t> threshold = {}) const;
  double average_recall(std::int64_t label, AreaRange area = AreaRange::kAll,
                        std::size_t most = 2) const;

  std::int64_t num_classes() const { return num_classes_; }
  const MaxDetections& max_detections() const { return max_detections_; }

 private:
  friend class DetectionEvaluation;

  std::int64_t num_classes_ = 0;
  MaxDetections max_detections_ = kCocoMaxDetections;
  std::vector<double> precision_;      // (areas, classes, thresholds, recalls)
  std::vector<double> recall_;         // (most, areas, classes, thresholds)
  std::vector<std::int64_t> objects_;  // (areas, classes)
};

/// Matches detections with the truth, image by image. Of detections with equal scores those of the
/// image that was added first come first, and in an image the one that stands first; pycocotools
/// goes through images by their ids.
class DetectionEvaluation {
 public:
  /// Throws ConfigError unless `most` ascends from 1 or more.
  DetectionEvaluation(std::int64_t num_classes, Overlap overlap,
                      const MaxDetections& most = kCocoMaxDetections);

  /// An image, which may hold nothing in truth or detections. Throws as check_objects().
  void add(std::span<const TruthObject> truth, std::span<const DetectedObject> detections);
  DetectionScores scores() const;

 private:
  // A detection of an image, with a bit for each area range and threshold.
  struct Match {
    double score = 0;
    std::int64_t rank = 0;  // in its image and class
    std::uint64_t matched = 0, ignored = 0;
  };
  struct OfClass {
    std::vector<Match> matches;
    std::array<std::int64_t, kAreaRanges> objects{};
  };

  std::int64_t num_classes_;
  Overlap overlap_;
  MaxDetections most_;
  std::vector<OfClass> classes_;
};

/// COCO's twelve numbers, shares of 1, in pycocotools' order; NaN where it has -1.
std::array<double, 12> coco_numbers(const DetectionScores& scores);

/// COCO's numbers in percent: ap (mean over the thresholds), ap50, ap75, ap_small, ap_medium,
/// ap_large, ar1, ar10, ar100, ar_small, ar_medium, ar_large, and `ap_<class>` of each class; with
/// "mask_" in front where masks were compared. Means are over the classes with truth; their
/// coverage says how many these are. class_names: as many as there are classes, or none, which
/// leaves single classes out.
std::vector<Measurement> measure_detections(const DetectionScores& scores, Overlap overlap,
                                            const std::vector<std::string>& class_names);
/// The metrics without their values. Without class names, one with a * stands for all classes.
std::vector<MetricInfo> detection_metrics(Overlap overlap,
                                          const std::vector<std::string>& class_names = {},
                                          const MaxDetections& most = kCocoMaxDetections);

}  // namespace fovea::metrics
