// Task: one label for each image.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/loader.h"
#include "metrics/classification.h"
#include "models/model.h"
#include "training/loss.h"
#include "training/options.h"
#include "training/task.h"

namespace fovea::training {

struct ImageClassificationSetup {
  std::shared_ptr<const data::Dataset> train;  // may be null where nothing is trained
  std::shared_ptr<const data::Dataset> val;    // may be null
  std::shared_ptr<const data::Dataset> test;   // may be null
  schema::Component loss{"cross_entropy", {}};
  TrainOptions options;
  std::uint64_t seed = 0;
  Device host;
  bool overfit = false;  // evaluate on the training samples, unshuffled and without augmentation
};

/// Metrics: loss (cross-entropy without smoothing), top1 and, for more than five classes, top5, in
/// percent. With a validation part, it is evaluated during training and test once, at the end;
/// without one, test is evaluated during training (dgsa 6.1).
class ImageClassification final : public Task {
 public:
  /// `model` outlives the task.
  ImageClassification(models::Model& model, ImageClassificationSetup setup);

  nn::Module& model() override { return model_; }
  std::int64_t batches_per_epoch() const override;
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) override;
  std::unique_ptr<Batch> next_batch() override;
  Tensor loss(const Batch& batch) override;
  std::vector<std::string> splits() const override;
  std::string final_split() const override;
  Monitor monitor() const override { return {splits().front(), "top1", true}; }
  Metrics evaluate(const std::string& split) override;
  std::map<std::string, Tensor> tensors(const Batch& batch) const override;
  double wait_seconds() const override;
  std::int64_t skipped_samples() const override;

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
  struct ImageBatch;
  const std::shared_ptr<const data::Dataset>& dataset(const std::string& split) const;
  Tensor logits(const Tensor& images);

  models::Model& model_;
  ImageClassificationSetup setup_;
  ClassLoss loss_;
  Device device_;  // of the model
  DType dtype_ = DType::kFloat32;
  std::unique_ptr<data::DataLoader> loader_;
  std::map<std::string, std::int64_t> skipped_;  // samples, in the last evaluation of each split
};

}  // namespace fovea::training
