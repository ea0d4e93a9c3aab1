// What tasks on a data set share: splits, batches from a source, the network on its device. A
// derived task is a goal: it compares outputs with targets and does not know what the inputs are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "training/batch_source.h"
#include "training/task.h"

namespace fovea::training {

class DataTask : public Task {
 public:
  nn::Module& model() override { return model_; }
  std::int64_t batches_per_epoch() const override { return source_->batches_per_epoch(); }
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) override {
    source_->start_epoch(epoch, first_batch);
  }
  std::unique_ptr<Batch> next_batch() override { return source_->next(); }
  std::vector<std::string> parts() const override;
  std::map<std::string, Tensor> tensors(const Batch& batch) const override;
  /// Those of the source, and the names of the classes in the order of the outputs.
  std::map<std::string, std::string> files() const override;
  /// A checkpoint without class names, as older programs wrote, is taken with a note.
  std::vector<std::string> check_files(const std::map<std::string, std::string>& files,
                                       const std::string& folder) const override;
  schema::Value fingerprint() const override { return source_->fingerprint(); }
  std::string sample_lists() const override { return source_->sample_lists(); }
  double wait_seconds() const override { return source_->wait_seconds(); }
  std::int64_t skipped_samples() const override { return source_->skipped_samples(); }

  /// Called with a batch and the network's output for it, on the host.
  using Visit = std::function<void(const DataBatch& batch, const Tensor& output)>;

  BatchSource& source() { return *source_; }
  const BatchSource& source() const { return *source_; }

 protected:
  /// `model` outlives the task. Throws ConfigError unless the source's targets are `target`.
  DataTask(models::Model& model, std::shared_ptr<BatchSource> source, Target target);

  static const DataBatch& data_of(const Batch& batch);
  /// What the network makes of host inputs, on its device.
  Tensor output(const Tensor& inputs);
  const Device& device() const { return device_; }
  const Device& host() const { return source_->options().host; }

  /// Every batch of a split, in any order, with the network's output on the host and with noise on
  /// every sample if asked for. Throws ConfigError for a split that is not there.
  void for_each_batch(const std::string& split, const std::optional<NoiseLevel>& noise,
                      const Visit& visit);
  void check_split(const std::string& split) const;

 private:
  models::Model& model_;
  std::shared_ptr<BatchSource> source_;
  Device device_;  // of the model
  DType dtype_ = DType::kFloat32;
};

/// The order that sorts `keys`; reordered() brings a parallel list into it.
std::vector<std::size_t> ascending(const std::vector<std::int64_t>& keys);
template <class T>
std::vector<T> reordered(const std::vector<T>& list, const std::vector<std::size_t>& order) {
  std::vector<T> result;
  result.reserve(list.size());
  for (const std::size_t i : order) result.push_back(list[i]);
  return result;
}

}  // namespace fovea::training
