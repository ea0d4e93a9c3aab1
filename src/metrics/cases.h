// Metrics that compare case by case (an image, or a volume) and class by class, as papers on
// medical images do: Dice and HD95. gdla 7.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metrics/confusion.h"
#include "metrics/distance_transform.h"
#include "metrics/metric_info.h"
#include "metrics/segmentation.h"

namespace fovea::metrics {

/// Of CaseMetrics::volumes.
inline constexpr const char* kNoVolumes = "none";

/// What a case counts whose truth or prediction is without the class.
enum class EmptyMasks {
  kStrict,     // Dice is undefined without truth, HD95 where either is empty: left out of the mean
  kGdla,       // Dice as strict; HD95 is 0 where either is empty, and counts
  kTransUnet,  // both are 0 and count, but Dice is 1 where only the prediction holds the class
};

/// Mean over classes of the mean over cases of Dice and IoU; and of HD95 in pixels or millimetres.
inline const MetricInfo kCaseDice{
    .name = "case_dice", .unit = "%", .decimals = 2, .per_sample = true};
inline const MetricInfo kCaseIou{
    .name = "case_iou", .unit = "%", .decimals = 2, .per_sample = true};
inline const MetricInfo kHd95{
    .name = "hd95", .unit = "px", .larger_is_better = false, .decimals = 2, .per_sample = true};
inline const MetricInfo kHd95Mm{
    .name = "hd95_mm", .unit = "mm", .larger_is_better = false, .decimals = 2, .per_sample = true};

/// At what size truth and prediction are compared.
enum class ScoreSize {
  kAuto,      // of slices of volumes that of their files, else what the network sees
  kNetwork,   // what the network sees
  kOriginal,  // that of the files: the prediction is brought back to it
};

/// What an experiment says of its scores. The metrics named cost time.
struct CaseMetrics {
  std::vector<std::string> names;  // of case_metrics()
  EmptyMasks empty = EmptyMasks::kStrict;
  /// Of what images are slices, by their names (data::Grouping); "": what the data say; kNoVolumes:
  /// each image is a case.
  std::string volumes = "";
  ScoreSize size = ScoreSize::kAuto;

  bool has(const MetricInfo& info) const;
  bool has_distances() const { return has(kHd95) || has(kHd95Mm); }
};
/// All that there are.
std::vector<MetricInfo> case_metrics();
/// Those asked for, each once. Throws ConfigError for an unknown name.
std::vector<MetricInfo> case_metrics(const CaseMetrics& asked);

/// 2 both / (truth + predicted), a share of 1; and both / (truth + predicted - both), which is 0, 1
/// or undefined where Dice is.
double case_dice(std::int64_t truth, std::int64_t predicted, std::int64_t both, EmptyMasks empty);
double case_iou(std::int64_t truth, std::int64_t predicted, std::int64_t both, EmptyMasks empty);
/// `distance` is NaN where either mask was empty.
double case_distance(double distance, EmptyMasks empty);

/// HD95 of each class but the first, which is the background, in a grid of labels; NaN where truth
/// or prediction is without it. A pixel whose truth is `ignore` is of no class in either. Throws
/// ShapeError as check_grid.
std::vector<double> class_hd95(std::span<const std::int64_t> truth,
                               std::span<const std::int64_t> predicted, std::int64_t classes,
                               std::int64_t ignore, const Grid& grid);

/// Of each class the mean over the cases where it is defined, `none` where there are none; and the
/// mean over the classes, NaN left out. cases: by case and class.
struct ClassMeans {
  std::vector<double> of_class;
  double mean = 0;
};
ClassMeans means_over_cases(const std::vector<std::vector<double>>& cases, Empty none);

/// Background and foreground as two classes.
ClassCounts class_counts(const MaskCounts& counts);

/// One case: pixels by class, and what class_hd95 gave for it in pixels and in millimetres, where
/// that was asked for.
struct CaseScores {
  ClassCounts counts;
  std::vector<double> hd95 = {}, hd95_mm = {};
  std::string volume = "";  // its name; "": an image
  std::int64_t images = 1;
  bool incomplete = false;  // a volume without some of its slices
};

struct CaseMeasurement {
  Measurement metric;
  double strict = 0;           // the same with EmptyMasks::kStrict
  std::int64_t undefined = 0;  // cases and classes that strict leaves out
  std::int64_t compared = 0;   // all cases and classes
};
/// Of those asked for, over all cases. Dice and IoU are in percent. A class that is defined in no
/// case has a Dice of 0, as MONAI's, and no HD95. The value of a single case (per_sample) is the
/// mean over its classes that are defined; with EmptyMasks::kStrict it is undefined where a class
/// of the truth was not found at all, so that missing one does not bring borders nearer.
std::vector<CaseMeasurement> measure_cases(const CaseMetrics& asked,
                                           const std::vector<CaseScores>& cases);

}  // namespace fovea::metrics
