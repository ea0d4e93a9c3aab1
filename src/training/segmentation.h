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

/// The network is a dense one whose finest map, through a sigmoid, is the foreground of the masks.
/// Metrics: metrics::measure_masks, with the mean over the images of each one's loss. The weights
/// of the lowest loss are the best.
class Segmentation final : public DataTask {
 public:
  /// `model` outlives the task.
  Segmentation(models::Model& model, std::shared_ptr<BatchSource> source,
               const schema::Component& loss = {"bce_dice", {}});
  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape&) {
    return metrics::mask_metrics();
  }
  static data::Batch random_batch(const models::DataShape& shape, std::int64_t size,
                                  const Device& device);

  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override;
  metrics::MetricInfo monitor() const override { return metrics::kLoss; }
  metrics::MetricInfo headline() const override { return metrics::kDsc; }
  std::vector<metrics::MetricInfo> metrics() const override { return metrics::mask_metrics(); }
  Metrics measure(const std::string& split, const std::optional<NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  /// samples.csv, overlays-*.png with outlines of some samples, and what MaskFiles writes.
  Report report(const ReportRequest& request) override;

  struct Evaluation {
    Metrics metrics;
    metrics::MaskCounts counts;
    std::vector<std::int64_t> indices;  // of the samples in the split, ascending
    std::vector<metrics::MaskCounts> by_sample;
    std::int64_t truth_empty = 0;  // images without foreground in the truth
    std::int64_t both_empty = 0;   // of these, those without foreground in the prediction either
  };
  /// Everything about one split; throws as measure(). `also` sees every batch.
  Evaluation evaluate_in_full(const std::string& split, const std::optional<NoiseLevel>& noise = {},
                              const Visit& also = {});

  /// Foreground probabilities of one sample, of the mask's shape.
  std::vector<float> predict(const std::string& split, std::int64_t i);

 private:
  void write_overlays(const ReportRequest& request, const Evaluation& clean);

  Loss loss_;
};

}  // namespace fovea::training
