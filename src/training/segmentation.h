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
/// images of each one's loss), miou, dsc, accuracy, sensitivity, specificity, in percent, from one
/// confusion matrix over the split. The weights of the lowest loss are the best. kcla 5.4.
class Segmentation final : public DataTask {
 public:
  /// `model` outlives the task.
  Segmentation(models::Model& model, std::shared_ptr<BatchSource> source,
               const schema::Component& loss = {"bce_dice", {}});

  Tensor loss(const Batch& batch) override;
  Monitor monitor() const override { return {splits().front(), "loss", false}; }
  std::vector<std::string> metric_names() const override { return mask_metric_names(); }
  static std::vector<std::string> mask_metric_names();
  Metrics evaluate(const std::string& split) override { return evaluate_in_full(split).metrics; }

  struct Evaluation {
    Metrics metrics;
    metrics::MaskCounts counts;
    std::vector<std::int64_t> indices;  // of the samples in the split, ascending
    std::vector<metrics::MaskCounts> by_sample;
  };
  /// Everything about one split ("train", "val", "test"), optionally with noise on every sample.
  /// Switches recording of gradients off; the model's mode is the caller's. Throws ConfigError for
  /// a split that is not there and for an unknown type of noise.
  Evaluation evaluate_in_full(const std::string& split,
                              const std::optional<NoiseLevel>& noise = {});

  /// Foreground probabilities of one sample, of the mask's shape.
  std::vector<float> predict(const std::string& split, std::int64_t i);

 private:
  Loss loss_;
};

}  // namespace fovea::training
