// Batches of images, with classes or masks.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "data/identity.h"
#include "data/loader.h"
#include "training/batch_source.h"

namespace fovea::training {

using ImageSplits = data::Splits<data::Dataset>;

/// Evaluation batches are in the order of the data set.
class ImageBatches final : public BatchSource {
 public:
  /// At least one split is there; all hold classes, or all masks.
  ImageBatches(ImageSplits splits, BatchOptions options);

  Target target() const override;
  std::int64_t batches_per_epoch() const override;
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) override;
  std::unique_ptr<DataBatch> next() override;
  bool has(const std::string& split) const override { return splits_.find(split) != nullptr; }
  void each_batch(const std::string& split, const std::optional<NoiseLevel>& noise,
                  const Visit& visit) override;
  Tensor input(const std::string& split, std::int64_t i) const override;
  std::string sample_name(const std::string& split, std::int64_t i) const override;
  const std::vector<std::string>& class_names() const override;
  NoiseGrid noise_grid() const override;
  std::vector<std::string> noise_types() const override;
  schema::Value fingerprint() const override { return data::fingerprint(splits_); }
  std::string sample_lists() const override { return data::sample_lists(splits_); }
  std::vector<std::string> notes() const override;
  double wait_seconds() const override;
  std::int64_t skipped_samples() const override;

  /// Throws ConfigError for a split that is not there.
  const data::Dataset& images(const std::string& split) const { return splits_.at(split); }

 private:
  ImageSplits splits_;
  std::unique_ptr<data::DataLoader> loader_;     // of train
  std::map<std::string, std::int64_t> skipped_;  // samples, in the last evaluation of each split
};

}  // namespace fovea::training
