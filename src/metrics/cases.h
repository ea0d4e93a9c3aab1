// Metrics that compare case by case (an image, or a volume) and class by class, as papers on
// medical images do: Dice, HD95 and others. gdla 7. The metrics themselves are in
// cases/case_metrics.def.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "metrics/confusion.h"
#include "metrics/masks/distance_transform.h"
#include "metrics/metric_info.h"
#include "metrics/segmentation.h"

namespace fovea::metrics {

/// A value of CaseMetrics::volumes.
inline constexpr const char* kNoVolumes = "none";

/// How a case counts for a class that is missing in its truth or prediction.
enum class EmptyMasks {
  kStrict,     // left out: Dice where the truth is empty, HD95 where either mask is empty
  kGdla,       // Dice as kStrict; HD95 counts as 0 where either mask is empty
  kTransUnet,  // both count as 0, but Dice as 1 where only the prediction has the class
  kDformer,    // Dice is 1 where both are empty, 0 where one is; HD95 as kStrict (dformer 7.8)
};

/// The size at which truth and prediction are compared.
enum class ScoreSize {
  kAuto,      // kOriginal for slices, for volumes and where distances are asked for, else
              // kNetwork
  kNetwork,   // the size that the network sees
  kOriginal,  // the size of the files, to which predictions are brought back
};

/// What an experiment asks for. These metrics cost time.
struct CaseMetrics {
  std::vector<std::string> names;  // of case_metrics(); of a classification, class_scores()
  EmptyMasks empty = EmptyMasks::kStrict;
  /// How to tell from its name which volume an image is a slice of (data::Grouping). "": as the
  /// data say; kNoVolumes: each image is a case.
  std::string volumes = "";
  ScoreSize size = ScoreSize::kAuto;
  /// How far surfaces may be apart in nsd, in pixels, and in nsd_mm, in millimetres.
  double nsd_tolerance = 1, nsd_tolerance_mm = 2;
  /// Names of the classes that means are taken over; none: all but the background.
  std::vector<std::string> classes = {};
  /// The first class that is compared; no key of files, but of the data: 1 behind the background, 0
  /// where there is none.
  std::size_t first_class = 1;

  bool has_pixel_distances() const;
  bool has_distances() const;
};
/// All case metrics. Each is the mean over classes of the mean over cases.
std::vector<MetricInfo> case_metrics();
/// "case_dice: Dice; hd95: ...".
std::string case_metrics_help();
/// The metrics asked for, each once. Throws ConfigError for an unknown name.
std::vector<MetricInfo> case_metrics(const CaseMetrics& asked);
/// The metric of a single class: "case_dice_*".
MetricInfo per_class(MetricInfo info);
/// The metrics asked for, followed by each of them for every class but the background; while there
/// are no class names yet, with a *.
std::vector<MetricInfo> case_metrics(const CaseMetrics& asked,
                                     const std::vector<std::string>& class_names);

/// Dice, 2 both / (truth + predicted), and IoU, both / (truth + predicted - both), from 0 to 1. IoU
/// is 0, 1 or undefined exactly where Dice is.
double case_dice(std::int64_t truth, std::int64_t predicted, std::int64_t both, EmptyMasks empty);
double case_iou(std::int64_t truth, std::int64_t predicted, std::int64_t both, EmptyMasks empty);
/// `distance` is NaN where either mask was empty.
double case_distance(double distance, EmptyMasks empty);

struct CaseMetricEntry;
/// For each metric that is made of masks, by name, the value of every class but the background. NaN
/// where truth or prediction lacks the class.
using MaskValues = std::map<std::string, std::vector<double>>;
/// Those of `metrics` on a grid of labels, of the sets from asked.first_class on. A pixel whose
/// truth is `ignore` belongs to no class in truth and prediction. Throws ShapeError as check_grid.
MaskValues mask_values(const std::vector<const CaseMetricEntry*>& metrics,
                       std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted,
                       const LabelSets& sets, std::int64_t ignore, const Grid& grid,
                       const CaseMetrics& asked = {});

/// For each class the mean over the cases where it is defined, `none` where there are no such
/// cases; and the mean over the classes, without NaN. cases: by case and class.
struct ClassMeans {
  std::vector<double> of_class;
  double mean = 0;
};
ClassMeans means_over_cases(const std::vector<std::vector<double>>& cases, Empty none);

/// Background and foreground as two classes.
ClassCounts class_counts(const MaskCounts& counts);

/// One case: pixels by class, and what was asked for that is made of masks.
struct CaseScores {
  ClassCounts counts;
  MaskValues from_masks = {};
  std::string volume = "";  // name of the volume; "" for an image
  std::int64_t images = 1;
  bool incomplete = false;    // some slices of the volume are missing
  bool pixels_alone = false;  // how large its pixels are is not known
};

struct CaseMeasurement {
  Measurement metric;
  const CaseMetricEntry* entry = nullptr;
  bool left_out = true;        // undefined values; else a rule puts a number in their place
  double strict = 0;           // the value under EmptyMasks::kStrict
  std::int64_t undefined = 0;  // values that kStrict leaves out, one a case and class
  std::int64_t compared = 0;   // all values
  std::int64_t absent = 0;     // classes without a defined share, which count 0 in a mean
  bool of_class = false;       // the metric of a single class
};
/// The metrics asked for, over all cases and the classes that `asked` chooses; then, where class
/// names are given, each metric for every class but the background, NaN for one that no case has.
/// Shares are in percent. The value of a single case (per_sample) is the mean over its classes that
/// are defined; with EmptyMasks::kStrict it is undefined where a class of the truth was not found
/// at all, so that overlooking a class does not shorten distances. The coverage of a distance
/// counts values that a rule replaces by 0 as missing.
std::vector<CaseMeasurement> measure_cases(const CaseMetrics& asked,
                                           const std::vector<CaseScores>& cases,
                                           const std::vector<std::string>& class_names = {});
}  // namespace fovea::metrics
