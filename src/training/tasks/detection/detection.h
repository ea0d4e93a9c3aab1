// Task: the objects of images, as boxes with classes and scores, and masks where the network makes
// them. mala 4.5, 8.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/boxes/box_dataset.h"
#include "metrics/detection.h"
#include "models/detectors/detector.h"
#include "training/tasks/task.h"

namespace fovea::training {

/// Drives a detector, whose losses are its own. What it finds is compared with the truth at the
/// size of the files: COCO's metrics of boxes, and of masks where the network makes them. The
/// weights of the highest AP of boxes are the best, as mmdet's `save_best` has it.
class Detection final : public Task {
 public:
  /// `model` outlives the task. Throws ConfigError for a network that is no detector, and for one
  /// that learns from masks which the samples do not have.
  Detection(models::Model& model, std::shared_ptr<BatchSource> source, const schema::Component&);

  /// Those of masks too: whether there are any, the network says.
  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape& shape);
  static data::Batch random_batch(const models::DataShape& shape, std::int64_t size,
                                  const Device& device);

  /// The sum of the network's losses.
  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override {
    return loss_parts_of(output, batch).sum;
  }
  LossParts loss_parts_of(const models::Outputs& output, const data::Batch& batch) const override;
  std::vector<metrics::MetricInfo> metrics() const override;
  metrics::MetricInfo monitor() const override;
  Metrics measure(data::Split split, const std::optional<NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  /// Tables of the detections, of the classes, of the kinds of errors and of precision over recall;
  /// all that was found; some of the images to be shown.
  Report report(const ReportRequest& request) override;
  Picture picture(data::Split split, std::int64_t i) override;
  std::vector<metrics::DetectedObject> objects_in(const data::Batch& batch) override;

  struct Evaluation {
    Metrics metrics;
    std::vector<std::int64_t> indices;  // of the samples in the split, ascending
    std::vector<DetectedImage> images;  // in that order
    metrics::DetectionScores boxes;
    std::optional<metrics::DetectionScores> masks;
  };
  /// Everything about one split; throws as measure().
  Evaluation evaluate_in_full(data::Split split, const std::optional<NoiseLevel>& noise = {});

 private:
  const data::BoxDataset& samples(data::Split split) const;
  /// Of every image of a batch, in pixels of these sizes.
  std::vector<std::vector<metrics::DetectedObject>> find(
      const data::Batch& batch, const models::Outputs& output,
      const std::vector<models::ImageSize>& sizes) const;
  metrics::DetectionScores score(const std::vector<DetectedImage>& images,
                                 metrics::Overlap overlap) const;

  models::Detector& detector_;
};

}  // namespace fovea::training
