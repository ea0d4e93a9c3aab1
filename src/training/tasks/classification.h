// A goal: one label for each sample, images and texts alike.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/classification.h"
#include "training/losses/loss.h"
#include "training/tasks/task.h"

namespace fovea::training {

/// Learns from "target", the probabilities of the classes, where batches have it, else from
/// "label". Metrics: metrics::measure_classes, with cross-entropy without smoothing as the loss.
/// The weights of the highest top1 are the best.
class Classification : public Task {
 public:
  /// `model` outlives the task.
  Classification(models::Model& model, std::shared_ptr<BatchSource> source,
                 const schema::Component& loss = {"cross_entropy", {}});

  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override;
  Tensor probabilities_of(const data::Batch& batch) override;
  metrics::MetricInfo monitor() const override { return metrics::kTop1; }
  std::vector<metrics::MetricInfo> metrics() const override;
  /// The same before there are data.
  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape& shape) {
    return metrics::class_metrics(shape.num_classes);
  }
  Metrics measure(data::Split split, const std::optional<NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  /// The confusion matrix, and the scores of each sample.
  Report report(const ReportRequest& request) override;

  struct Evaluation {
    Metrics metrics;
    metrics::ConfusionMatrix confusion;
    std::vector<std::int64_t> indices;  // of the samples in the split, ascending
    std::vector<std::int64_t> labels;   // the truth
    std::vector<std::int64_t> predictions;
  };
  /// Everything about one split; throws as measure(). `also` sees every batch.
  Evaluation evaluate_in_full(data::Split split, const std::optional<NoiseLevel>& noise = {},
                              const Visit& also = {});

 private:
  Loss loss_;
};

/// Every class in turn, (b) int64.
Tensor some_labels(std::int64_t batch_size, std::int64_t num_classes, const Device& device);

}  // namespace fovea::training
