// Metrics of segmentations into several classes, from the pixels (or voxels) of every class in
// truth and prediction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "metrics/confusion.h"
#include "metrics/segmentation.h"
#include "tensor/tensor.h"

namespace fovea::metrics {

/// Mean over the classes but the first, which is the background, of their Dice over all pixels of a
/// split; that of each class; and its IoU.
inline const MetricInfo kMeanDice{.name = "mean_dice", .unit = "%", .decimals = 2};
inline const MetricInfo kClassDice{.name = "dice_*", .unit = "%", .decimals = 2};
inline const MetricInfo kClassIou{.name = "iou_*", .unit = "%", .decimals = 2};

/// The class of the largest logit of every pixel. Of equal ones it is the first; NaN ranks below
/// everything. logits: (b, classes, spatial...) float32 or float64 on the host -> (b, spatial...)
/// int64. Throws ShapeError for fewer than three axes.
Tensor predicted_labels(const Tensor& logits);

/// 2 both / (truth + predicted), and both / (truth + predicted - both), of every class; NaN for a
/// class that occurs in neither (Empty::kLeftOut).
std::vector<double> class_dice(const ClassCounts& counts);
std::vector<double> class_iou(const ClassCounts& counts);
/// Mean of what is not NaN, from class `first` on. If nothing is left, `none` says what it is.
double class_mean(const std::vector<double>& shares, std::size_t first, Empty none);

/// The metrics of a segmentation from the mean loss and the pixels of every image: loss; from one
/// confusion matrix over the pixels of the split mean_dice, miou (mean of the IoU of all classes,
/// the background too), accuracy, and Dice and IoU of each class; and means over the images,
/// dice_per_image and iou_per_image, of the mean over the classes but the background that occur in
/// an image's truth or prediction. Classes that occur in neither are left out everywhere, as in
/// nnU-Net; an image with nothing but background in both counts 1. Of two classes it is what
/// measure_masks() makes of their masks.
std::vector<Measurement> measure_label_maps(double loss, const std::vector<ClassCounts>& images,
                                            const std::vector<std::string>& class_names);
/// The same without values. Without names, one with a * stands for those of all classes.
std::vector<MetricInfo> label_map_metrics(const std::vector<std::string>& class_names = {});

/// That of one class: `word` for the *.
MetricInfo of_class(MetricInfo info, const std::string& word);
/// What metrics of single classes have in place of the *: letters, digits, dots and dashes of the
/// classes' names, others as "_"; where that makes two metrics of one name, with the class's
/// number.
std::vector<std::string> class_words(const std::vector<std::string>& class_names);

}  // namespace fovea::metrics
