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
  kDformer,    // Dice is 1 where both are empty and 0 where one is; HD95 as strict. dformer 7.8
};

/// Mean over classes of the mean over cases of Dice and IoU; of HD95; and of the largest distance,
/// Hausdorff's, in pixels or millimetres.
inline const MetricInfo kCaseDice{
    .name = "case_dice", .unit = "%", .decimals = 2, .per_sample = true};
inline const MetricInfo kCaseIou{
    .name = "case_iou", .unit = "%", .decimals = 2, .per_sample = true};
inline const MetricInfo kHd95{
    .name = "hd95", .unit = "px", .larger_is_better = false, .decimals = 2, .per_sample = true};
inline const MetricInfo kHd95Mm{
    .name = "hd95_mm", .unit = "mm", .larger_is_better = false, .decimals = 2, .per_sample = true};
inline const MetricInfo kHd{
    .name = "hd", .unit = "px", .larger_is_better = false, .decimals = 2, .per_sample = true};
inline const MetricInfo kHdMm{
    .name = "hd_mm", .unit = "mm", .larger_is_better = false, .decimals = 2, .per_sample = true};

/// At what size truth and prediction are compared.
enum class ScoreSize {
  kAuto,      // that of the files for slices, volumes and wherever distances are asked for, else
              // what the network sees
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
  /// Names of the classes that means over classes are of; none: all but the background.
  std::vector<std::string> classes = {};

  bool has(const MetricInfo& info) const;
  bool has_pixel_distances() const { return has(kHd95) || has(kHd); }
  bool has_distances() const { return has_pixel_distances() || has(kHd95Mm) || has(kHdMm); }
};
/// All that there are.
std::vector<MetricInfo> case_metrics();
/// Those asked for, each once. Throws ConfigError for an unknown name.
std::vector<MetricInfo> case_metrics(const CaseMetrics& asked);
/// One of them for a single class: "case_dice_*".
MetricInfo per_class(MetricInfo info);
/// Those asked for, and behind them each of every class but the first of these names; where there
/// are none yet, with a *.
std::vector<MetricInfo> case_metrics(const CaseMetrics& asked,
                                     const std::vector<std::string>& class_names);

/// 2 both / (truth + predicted), a share of 1; and both / (truth + predicted - both), which is 0, 1
/// or undefined where Dice is.
double case_dice(std::int64_t truth, std::int64_t predicted, std::int64_t both, EmptyMasks empty);
double case_iou(std::int64_t truth, std::int64_t predicted, std::int64_t both, EmptyMasks empty);
/// `distance` is NaN where either mask was empty.
double case_distance(double distance, EmptyMasks empty);

/// Distances between the borders of each class but the first, which is the background, in a grid
/// of labels: the 95th percentile and the largest. NaN where truth or prediction is without it. A
/// pixel whose truth is `ignore` is of no class in either. Throws ShapeError as check_grid.
struct ClassDistances {
  std::vector<double> hd95, hd;
};
ClassDistances class_distances(std::span<const std::int64_t> truth,
                               std::span<const std::int64_t> predicted, const LabelSets& sets,
                               std::int64_t ignore, const Grid& grid);
/// The same of single labels, 0 to classes - 1.
ClassDistances class_distances(std::span<const std::int64_t> truth,
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

/// One case: pixels by class, and what class_distances() gave for it in pixels and in millimetres,
/// where that was asked for.
struct CaseScores {
  ClassCounts counts;
  ClassDistances pixels = {}, mm = {};
  std::string volume = "";  // its name; "": an image
  std::int64_t images = 1;
  bool incomplete = false;  // a volume without some of its slices
};

/// Of the classes of a case, by a metric of distances.
const std::vector<double>& distances_of(const MetricInfo& info, const CaseScores& one);

struct CaseMeasurement {
  Measurement metric;
  double strict = 0;           // the same with EmptyMasks::kStrict
  std::int64_t undefined = 0;  // cases and classes that strict leaves out
  std::int64_t compared = 0;   // all cases and classes
  bool of_class = false;       // of a single one
};
/// Of those asked for, over all cases and the classes that `asked` chooses; then, where class names
/// are given, each of every class but the first. Dice and IoU are in percent. A class that is
/// defined in no case has a Dice of 0, as MONAI's, and no distances. The value of a single case
/// (per_sample) is the mean over its classes that are defined; with EmptyMasks::kStrict it is
/// undefined where a class of the truth was not found at all, so that missing one does not bring
/// borders nearer. The coverage of a distance counts what a rule replaces by 0 as missing.
std::vector<CaseMeasurement> measure_cases(const CaseMetrics& asked,
                                           const std::vector<CaseScores>& cases,
                                           const std::vector<std::string>& class_names = {});
/// Whether the rule leaves out what is undefined, rather than to put a number in its place.
bool leaves_out(const MetricInfo& info, EmptyMasks empty);

}  // namespace fovea::metrics
