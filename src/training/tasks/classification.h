// A goal: one label for each sample, images and texts alike.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/classes/class_score.h"
#include "metrics/classification.h"
#include "training/losses/loss.h"
#include "training/tasks/task.h"

namespace fovea::explain {
class AttentionSample;
}

namespace fovea::training {

/// Learns from "target", the probabilities of the classes, where batches have it, else from
/// "label". Metrics: metrics::measure_classes, with cross-entropy without smoothing as the loss,
/// and behind them the scores that add_metrics() asked for. The weights of the highest top1 are the
/// best.
class Classification : public Task {
 public:
  /// `model` outlives the task.
  Classification(models::Model& model, std::shared_ptr<BatchSource> source,
                 const schema::Component& loss = {"cross_entropy", {}});

  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override;
  Tensor probabilities_of(const data::Batch& batch) override;
  models::Outputs outputs_for(const Tensor& probabilities) const override {
    return {.logits = log_probabilities(probabilities)};
  }
  metrics::MetricInfo monitor() const override { return metrics::kTop1; }
  std::vector<metrics::MetricInfo> metrics() const override;
  /// The same before there are data.
  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape& shape) {
    return metrics::class_metrics(shape.num_classes);
  }
  static std::vector<metrics::MetricInfo> asked_metrics(const metrics::CaseMetrics& asked,
                                                        const models::DataShape& shape);
  /// Scores of class_scores.def, and metrics of attention maps. Throws ConfigError for other
  /// metrics, and for classes.
  void add_metrics(const metrics::CaseMetrics& asked) override;
  Metrics measure(data::Split split, const std::optional<NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  /// The confusion matrix, the scores of each sample, and how well calibrated they are.
  Report report(const ReportRequest& request) override;

  struct Evaluation {
    Metrics metrics;
    metrics::ConfusionMatrix confusion;
    std::vector<std::int64_t> indices;      // of the samples in the split, ascending
    metrics::ClassPredictions predictions;  // with probabilities where scores are asked for
    std::vector<float> logits;              // (n, width); there where these are
  };
  /// Everything about one split; throws as measure().
  Evaluation evaluate_in_full(data::Split split, const std::optional<NoiseLevel>& noise = {}) {
    return evaluate(split, noise, !asked_.empty());
  }

 private:
  Evaluation evaluate(data::Split split, const std::optional<NoiseLevel>& noise, bool keep_logits);

  Loss loss_;
  void check_attention();
  void sample_attention(data::Split split, const data::Batch& batch, explain::AttentionSample& to);
  const std::string& input_name() const;

  std::vector<std::string> asked_;      // names of scores
  std::vector<std::string> attention_;  // of explain::attention_metrics()
};

/// Every class in turn, (b) int64.
Tensor some_labels(std::int64_t batch_size, std::int64_t num_classes, const Device& device);

}  // namespace fovea::training
