// What tasks on a data set with classes or masks share: splits, batches from a loader, the network
// on its device.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/loader.h"
#include "models/model.h"
#include "schema/description.h"
#include "training/options.h"
#include "training/task.h"

namespace fovea::training {

struct DataTaskSetup {
  std::shared_ptr<const data::Dataset> train;  // may be null where nothing is trained
  std::shared_ptr<const data::Dataset> val;    // may be null
  std::shared_ptr<const data::Dataset> test;   // may be null
  schema::Component loss{"cross_entropy", {}};
  TrainOptions options;
  std::uint64_t seed = 0;
  Device host;
  bool overfit = false;  // evaluate on the training samples, unshuffled and without augmentation
};

/// With a validation part, it is evaluated during training and test once, at the end; without one,
/// test is evaluated during training (dgsa 6.1).
class DataTask : public Task {
 public:
  nn::Module& model() override { return model_; }
  std::int64_t batches_per_epoch() const override;
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) override;
  std::unique_ptr<Batch> next_batch() override;
  std::vector<std::string> splits() const override;
  std::string final_split() const override;
  std::map<std::string, Tensor> tensors(const Batch& batch) const override;
  double wait_seconds() const override;
  std::int64_t skipped_samples() const override;

  /// The data of "train", "val" or "test". Throws ConfigError for a split that is not there.
  const std::shared_ptr<const data::Dataset>& dataset(const std::string& split) const;

 protected:
  /// `model` outlives the task. Throws ConfigError unless the data sets have masks, or have none.
  DataTask(models::Model& model, DataTaskSetup setup, bool masks);

  static const data::Batch& data_of(const Batch& batch);
  /// What the network makes of host images, on its device.
  Tensor output(const Tensor& images);
  const Device& device() const { return device_; }
  const DataTaskSetup& setup() const { return setup_; }

  /// Every batch of a split in order, with the network's output on the host and with noise on every
  /// sample if asked for.
  using Visit = std::function<void(const data::Batch& batch, const Tensor& output)>;
  void for_each_batch(const std::string& split,
                      const std::optional<data::CorruptionLevel>& corruption, const Visit& visit);

 private:
  struct LoadedBatch;

  models::Model& model_;
  DataTaskSetup setup_;
  Device device_;  // of the model
  DType dtype_ = DType::kFloat32;
  std::unique_ptr<data::DataLoader> loader_;
  std::map<std::string, std::int64_t> skipped_;  // samples, in the last evaluation of each split
};

}  // namespace fovea::training
