// Task: a mask for each image.
#pragma once

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
  Segmentation(models::Model& model, const DataTaskSetup& setup);

  Tensor loss(const Batch& batch) override;
  Monitor monitor() const override { return {splits().front(), "loss", false}; }
  Metrics evaluate(const std::string& split) override;

  struct Evaluation {
    Metrics metrics;
    metrics::MaskCounts counts;
    std::vector<std::int64_t> indices;  // of the samples in the data set, in its order
    std::vector<metrics::MaskCounts> by_sample;
  };
  /// Everything about one split ("train", "val", "test"), optionally with noise on every sample.
  /// Switches recording of gradients off; the model's mode is the caller's. Throws ConfigError for
  /// a split that is not there.
  Evaluation evaluate_in_full(const std::string& split,
                              std::optional<data::CorruptionLevel> corruption = {});

  /// A sample as the network sees it, and the foreground probabilities it gives.
  struct Prediction {
    data::Sample sample;
    std::vector<float> prob;  // of the mask's shape
  };
  Prediction predict(const std::string& split, std::int64_t index);

 private:
  Loss loss_;
};

}  // namespace fovea::training
