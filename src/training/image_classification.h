// Task: one label for each image.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/classification.h"
#include "training/data_task.h"
#include "training/loss.h"

namespace fovea::training {

/// Metrics: loss (cross-entropy without smoothing), top1 and, for more than five classes, top5, in
/// percent.
class ImageClassification final : public DataTask {
 public:
  /// `model` outlives the task.
  ImageClassification(models::Model& model, const DataTaskSetup& setup);

  Tensor loss(const Batch& batch) override;
  Monitor monitor() const override { return {splits().front(), "top1", true}; }
  Metrics evaluate(const std::string& split) override;

  struct Evaluation {
    Metrics metrics;
    metrics::ConfusionMatrix confusion;
    std::vector<std::int64_t> indices;  // of the samples in the data set, in its order
    std::vector<std::int64_t> labels;   // the truth
    std::vector<std::int64_t> predictions;
  };
  /// Everything about one split ("train", "val", "test"), optionally with noise on every sample.
  /// Switches recording of gradients off; the model's mode is the caller's. Throws ConfigError for
  /// a split that is not there.
  Evaluation evaluate_in_full(const std::string& split,
                              std::optional<data::CorruptionLevel> corruption = {});

 private:
  Loss loss_;
};

}  // namespace fovea::training
