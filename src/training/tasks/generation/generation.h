// Task: images of classes from noise. mala 4.7, 7.6.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/diffusion/denoiser.h"
#include "training/tasks/task.h"

namespace fovea::training {

/// The mean square of what a network's noise is off.
inline const metrics::MetricInfo kNoiseMse{.name = "mse", .larger_is_better = false};
/// The variational bound's part of a step, bits a dimension.
inline const metrics::MetricInfo kNoiseVb{.name = "vb", .unit = "bits", .larger_is_better = false};

/// Drives a denoiser. In training each image gets noise of a random step of the network's chain; in
/// evaluations noise and step are a function of the image's place in its split, so that two
/// evaluations differ by the weights alone. The weights of the lowest mse are the best.
class Generation final : public Task {
 public:
  /// `model` outlives the task. Throws ConfigError for a network that is no denoiser, and unless
  /// the images of the source are in [-1, 1] (dataset.mean and std of 0.5).
  Generation(models::Model& model, std::shared_ptr<BatchSource> source, const schema::Component&);

  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape& shape);
  static data::Batch random_batch(const models::DataShape& shape, std::int64_t size,
                                  const Device& device);

  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override {
    return loss_parts_of(output, batch).sum;
  }
  LossParts loss_parts_of(const models::Outputs& output, const data::Batch& batch) const override;
  std::vector<metrics::MetricInfo> metrics() const override;
  metrics::MetricInfo monitor() const override { return kNoiseMse; }
  Metrics measure(data::Split split, const std::optional<NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  /// The losses of each tenth of the chain.
  Report report(const ReportRequest& request) override;
  Tensor generate_images(const ImageRequest& request) override;

  struct Evaluation {
    Metrics metrics;
    std::vector<std::int64_t> indices;  // of the samples in the split, ascending
    std::vector<std::int64_t> steps;    // of the chain, one a sample
    std::vector<double> mse, vb;        // the latter empty where no variance is learned
  };
  /// Everything about one split; throws as measure().
  Evaluation evaluate_in_full(data::Split split, const std::optional<NoiseLevel>& noise = {});

 protected:
  data::Batch prepared(const data::Batch& batch, const RandomStream& random) const override;

 private:
  data::Batch noisy(const data::Batch& batch, const Tensor& timestep, const Tensor& noise) const;

  models::Denoiser& denoiser_;
  ops::DiffusionChain chain_;
};

}  // namespace fovea::training
