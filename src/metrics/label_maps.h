// Metrics of segmentations into several classes, from the pixels (or voxels) of every class in
// truth and prediction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "metrics/confusion.h"
#include "metrics/segmentation.h"
#include "tensor/tensor.h"

namespace fovea::metrics {

/// Dice of each class over all pixels of a split, and its IoU.
inline const MetricInfo kClassDice{
    .name = "pooled_dice_*", .unit = "%", .decimals = 2, .aliases = {"dice_*"}};
inline const MetricInfo kClassIou{
    .name = "pooled_iou_*", .unit = "%", .decimals = 2, .aliases = {"iou_*"}};

/// The share of a class's pixels that have it, mean over the classes with any in the truth, the
/// background too: mean sensitivity. mmseg's mAcc.
inline const MetricInfo kMeanClassAccuracy{
    .name = "mean_class_accuracy", .unit = "%", .decimals = 2, .aliases = {"mAcc"}};

/// The class of the largest logit of every pixel. The first of equal logits wins; NaN ranks below
/// everything. logits: (b, classes, spatial...) float32 or float64 on the host -> (b, spatial...)
/// int64. Throws ShapeError for fewer than three axes.
Tensor predicted_labels(const Tensor& logits);

/// 2 both / (truth + predicted), and both / (truth + predicted - both), of every class; NaN for a
/// class that occurs in neither (Empty::kLeftOut).
std::vector<double> class_dice(const ClassCounts& counts);
std::vector<double> class_iou(const ClassCounts& counts);
/// Mean of what is not NaN, from class `first` on. If nothing is left, `none` says what it is.
double class_mean(const std::vector<double>& shares, std::size_t first, Empty none);
/// Whether any pixel of the image counts.
bool any_counts(const ClassCounts& image);
/// Mean of an image's `shares` (class_dice() or class_iou() of it) over the classes at `places`: 1
/// where none of them is in the truth or the prediction, NaN where no pixel of the image counts.
double image_share(const ClassCounts& image, const std::vector<double>& shares,
                   const std::vector<std::size_t>& places);

/// The indices of the classes called `chosen`; of all classes from `first` on where none is named:
/// 1 behind the background, 0 where there is none. Throws ConfigError, which names eval.classes,
/// for an unknown name, one given twice and the background.
std::vector<std::size_t> chosen_classes(const std::vector<std::string>& chosen,
                                        const std::vector<std::string>& class_names,
                                        std::size_t first = 1);
/// The shares at these indices.
std::vector<double> shares_at(const std::vector<double>& shares,
                              const std::vector<std::size_t>& places);

/// The metrics of a segmentation from the mean loss and the pixels of every image: loss; from one
/// confusion matrix over the pixels of the split pooled_dice (mean over the classes at `chosen`;
/// none given: all but the background), miou (mean of the IoU of all classes, the background too),
/// accuracy, mean_class_accuracy (of all classes too), and Dice and IoU of each class; and means
/// over the images, dice_per_image and iou_per_image, of the mean over the chosen classes that
/// occur in an image's truth or prediction. Classes that occur in neither are left out everywhere,
/// as in nnU-Net; an image without any of the classes in both counts 1. For two classes the result
/// is that of measure_masks().
std::vector<Measurement> measure_label_maps(double loss, const std::vector<ClassCounts>& images,
                                            const std::vector<std::string>& class_names,
                                            const std::vector<std::size_t>& chosen = {});
/// The metrics without their values. Without class names, one metric with a * stands for those of
/// all classes.
std::vector<MetricInfo> label_map_metrics(const std::vector<std::string>& class_names = {});

/// As measure_label_maps(), for regions, which may overlap: without miou, both accuracies and the
/// metrics of the background (the first class), which is no region.
std::vector<Measurement> measure_regions(double loss, const std::vector<ClassCounts>& images,
                                         const std::vector<std::string>& class_names,
                                         const std::vector<std::size_t>& chosen = {});
std::vector<MetricInfo> region_metrics(const std::vector<std::string>& class_names = {});

/// What replaces the * in the names of metrics of single classes: the class name, in which only
/// letters, digits, dots and dashes stay and others become "_"; with the number of the class where
/// two metrics would have one name. taken: further words that stand in names of other metrics.
std::vector<std::string> class_words(const std::vector<std::string>& class_names,
                                     std::set<std::string> taken = {});

}  // namespace fovea::metrics
