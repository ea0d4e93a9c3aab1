// Task: a mask for each image.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/segmentation.h"
#include "training/data_task.h"
#include "training/loss.h"

namespace fovea::training {

/// The network puts out foreground probabilities of the masks' shape. Metrics: loss (mean over the
/// images of each one's loss); in percent, from one confusion matrix over the pixels of the split,
/// iou_pooled (of the foreground; kcla 5.4 calls it mIoU), miou (mean of the IoU of background and
/// foreground), dsc, accuracy, sensitivity, specificity; and means over the images, dice_per_image
/// and iou_per_image. An image without foreground in truth and prediction counts 1 in these, as in
/// MONAI with ignore_empty=False; one with foreground in only one of the two counts 0. The weights
/// of the lowest loss are the best.
class Segmentation final : public DataTask {
 public:
  /// `model` outlives the task.
  Segmentation(models::Model& model, std::shared_ptr<BatchSource> source,
               const schema::Component& loss = {"bce_dice", {}});

  Tensor loss(const Batch& batch) override;
  Monitor monitor() const override { return {"loss", false}; }
  std::vector<std::string> metric_names() const override { return mask_metric_names(); }
  static std::vector<std::string> mask_metric_names();
  Metrics evaluate(const std::string& split) override { return evaluate_in_full(split).metrics; }

  struct Evaluation {
    Metrics metrics;
    metrics::MaskCounts counts;
    std::vector<std::int64_t> indices;  // of the samples in the split, ascending
    std::vector<metrics::MaskCounts> by_sample;
    std::int64_t truth_empty = 0;  // images without foreground in the truth
    std::int64_t both_empty = 0;   // of these, those without foreground in the prediction either
  };
  /// Everything about one split ("train", "val", "test"), optionally with noise on every sample.
  /// Switches recording of gradients off; the model's mode is the caller's. Throws ConfigError for
  /// a split that is not there and for an unknown type of noise. `also` sees every batch.
  Evaluation evaluate_in_full(const std::string& split, const std::optional<NoiseLevel>& noise = {},
                              const Visit& also = {});

  /// Foreground probabilities of one sample, of the mask's shape.
  std::vector<float> predict(const std::string& split, std::int64_t i);

 private:
  Loss loss_;
};

}  // namespace fovea::training
