// Task: one label for each sample, images and texts alike.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/classification.h"
#include "training/data_task.h"
#include "training/loss.h"

namespace fovea::training {

/// Metrics: loss (cross-entropy without smoothing), top1 and, for more than five classes, top5, in
/// percent.
class Classification final : public DataTask {
 public:
  /// `model` outlives the task.
  Classification(models::Model& model, std::shared_ptr<BatchSource> source,
                 const schema::Component& loss = {"cross_entropy", {}});

  Tensor loss(const Batch& batch) override;
  Monitor monitor() const override { return {"top1", true}; }
  std::vector<std::string> metric_names() const override;
  static std::vector<std::string> metric_names(std::int64_t num_classes);
  Metrics evaluate(const std::string& split) override { return evaluate_in_full(split).metrics; }

  struct Evaluation {
    Metrics metrics;
    metrics::ConfusionMatrix confusion;
    std::vector<std::int64_t> indices;  // of the samples in the split, ascending
    std::vector<std::int64_t> labels;   // the truth
    std::vector<std::int64_t> predictions;
  };
  /// Everything about one split ("train", "val", "test"), optionally with noise on every sample.
  /// Switches recording of gradients off; the model's mode is the caller's. Throws ConfigError for
  /// a split that is not there and for an unknown type of noise. `also` sees every batch.
  Evaluation evaluate_in_full(const std::string& split, const std::optional<NoiseLevel>& noise = {},
                              const Visit& also = {});

 private:
  Loss loss_;
};

}  // namespace fovea::training
