// Metrics of binary segmentation, from one confusion matrix over all elements of a set. kcla 5.4.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/metric_info.h"

namespace fovea::metrics {

/// The value of a share 0 / 0, such as the Dice of a class that is neither in the truth nor in the
/// prediction.
enum class Empty {
  kZero,     // 0
  kOne,      // 1: finding nothing is right where there is nothing; MONAI's ignore_empty=False
  kLeftOut,  // NaN, which means are taken without
};
double of_nothing(Empty empty);

/// From this probability, or this part of a pixel, on a mask is foreground.
inline constexpr float kForeground = 0.5f;

/// Pixels (or voxels) by truth and prediction. Foreground is where a value is at least the
/// threshold, in the prediction as in the target, whose borders may be soft.
class MaskCounts {
 public:
  explicit MaskCounts(float threshold = kForeground) : threshold_(threshold) {}

  /// Any number of elements, both in the same order. NaN is background. Throws ShapeError for
  /// different lengths.
  void add(std::span<const float> prob, std::span<const float> target);
  void add(const MaskCounts& other);

  std::int64_t true_positives() const { return tp_; }
  std::int64_t false_positives() const { return fp_; }
  std::int64_t false_negatives() const { return fn_; }
  std::int64_t true_negatives() const { return tn_; }
  std::int64_t total() const { return tp_ + fp_ + fn_ + tn_; }

  /// Whether the truth, or truth and prediction, have no foreground.
  bool truth_is_empty() const { return tp_ + fn_ == 0; }
  bool both_are_empty() const { return truth_is_empty() && fp_ == 0; }

  // Shares of 1. Where the denominator is 0 they are 0, as in the reference.
  double iou(Empty if_empty = Empty::kZero) const;   // TP / (TP + FP + FN) of the foreground
  double dice(Empty if_empty = Empty::kZero) const;  // 2 TP / (2 TP + FP + FN), DSC
  double background_iou() const;                     // TN / (TN + FP + FN)
  double accuracy() const;
  double sensitivity() const;  // TP / (TP + FN)
  double specificity() const;  // TN / (TN + FP)

 private:
  float threshold_;
  std::int64_t tp_ = 0, fp_ = 0, fn_ = 0, tn_ = 0;
};

// Label maps have these metrics too (label_maps.h).
/// Dice over all pixels of a split: of the foreground, or the mean over all classes but the
/// background.
inline const MetricInfo kPooledDice{
    .name = "pooled_dice", .unit = "%", .decimals = 2, .aliases = {"dsc", "mean_dice"}};
/// IoU of the foreground over all pixels of a split.
inline const MetricInfo kPooledIou{
    .name = "pooled_iou", .unit = "%", .decimals = 2, .aliases = {"iou_pooled"}};
/// IoU over all pixels of a split, mean over all classes with the background.
inline const MetricInfo kMiou{.name = "miou", .unit = "%", .decimals = 2, .aliases = {"mIoU"}};
/// Share of the pixels of a split that have the right class.
inline const MetricInfo kPixelAccuracy{
    .name = "accuracy", .unit = "%", .decimals = 2, .aliases = {"aAcc"}};
/// Means over the images of Dice and IoU of the foreground.
inline const MetricInfo kDicePerImage{
    .name = "dice_per_image", .unit = "%", .decimals = 2, .per_sample = true};
inline const MetricInfo kIouPerImage{
    .name = "iou_per_image", .unit = "%", .decimals = 2, .per_sample = true};

/// The metrics of a segmentation from the mean loss and the counts of every image: loss; from one
/// confusion matrix over the pixels of the split pooled_iou (of the foreground; kcla 5.4 calls it
/// mIoU), miou (mean of the IoU of background and foreground), pooled_dice, accuracy, sensitivity,
/// specificity; and means over the images, dice_per_image and iou_per_image. An image without
/// foreground in truth and prediction counts 1 in these, as in MONAI with ignore_empty=False; one
/// with foreground in only one of the two counts 0.
std::vector<Measurement> measure_masks(double loss, const std::vector<MaskCounts>& images);
/// The metrics without their values.
std::vector<MetricInfo> mask_metrics();

}  // namespace fovea::metrics
