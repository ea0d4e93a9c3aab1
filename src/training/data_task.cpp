#include "training/data_task.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "ops/elementwise.h"

namespace fovea::training {

struct DataTask::LoadedBatch : Batch {
  data::Batch data;
};

DataTask::DataTask(models::Model& model, DataTaskSetup setup, bool masks)
    : model_(model), setup_(std::move(setup)) {
  for (const auto& part : {setup_.train, setup_.val, setup_.test}) {
    FOVEA_CHECK(part == nullptr || part->has_masks() == masks, ConfigError,
                masks ? "task: segmentation needs masks, but the data set has classes; choose a "
                        "data set like paired_folder"
                      : "task: image_classification needs classes, but the data set has masks; set "
                        "task=segmentation");
  }
  const auto parameters = model_.parameters();
  FOVEA_CHECK(!parameters.empty(), ConfigError, "model: has no parameters");
  device_ = parameters.front().tensor.device();
  dtype_ = parameters.front().tensor.dtype();
  if (!setup_.train) return;
  data::LoaderOptions options;
  options.batch_size = setup_.options.batch_size;
  options.num_workers = setup_.options.num_workers;
  options.shuffle = !setup_.overfit;
  options.augment = !setup_.overfit;
  options.seed = setup_.seed;
  loader_ = std::make_unique<data::DataLoader>(setup_.train, options, setup_.host);
}

std::int64_t DataTask::batches_per_epoch() const { return loader_ ? loader_->num_batches() : 0; }

void DataTask::start_epoch(std::int64_t epoch, std::int64_t first_batch) {
  loader_->start(epoch, first_batch);
}

std::unique_ptr<Batch> DataTask::next_batch() {
  std::optional<data::Batch> next = loader_->next();
  if (!next) return nullptr;
  auto batch = std::make_unique<LoadedBatch>();
  batch->samples = next->images.size(0);
  batch->number = next->number;
  batch->data = std::move(*next);
  return batch;
}

const data::Batch& DataTask::data_of(const Batch& batch) {
  return static_cast<const LoadedBatch&>(batch).data;
}

Tensor DataTask::output(const Tensor& images) {
  const Tensor there = ops::to(images, device_);
  return model_(there.dtype() == dtype_ ? there : ops::cast(there, dtype_));
}

std::vector<std::string> DataTask::splits() const {
  if (setup_.overfit) return {"train"};
  if (setup_.val) return {"val"};
  return {setup_.test ? "test" : "train"};
}

std::string DataTask::final_split() const {
  return !setup_.overfit && setup_.val && setup_.test ? "test" : "";
}

const std::shared_ptr<const data::Dataset>& DataTask::dataset(const std::string& split) const {
  const auto& found = split == "train" ? setup_.train : split == "val" ? setup_.val : setup_.test;
  FOVEA_CHECK(found != nullptr && (split == "train" || split == "val" || split == "test"),
              ConfigError, fmt::format("dataset: has no split \"{}\"", split));
  return found;
}

void DataTask::for_each_batch(const std::string& split,
                              const std::optional<data::CorruptionLevel>& corruption,
                              const Visit& visit) {
  data::LoaderOptions options;
  const std::int64_t batch_size = setup_.options.eval_batch_size;
  options.batch_size = batch_size > 0 ? batch_size : setup_.options.batch_size;
  options.num_workers = setup_.options.num_workers;
  options.seed = setup_.seed;
  options.corruption = corruption;
  data::DataLoader loader(dataset(split), options, setup_.host);
  loader.start(0);
  while (const std::optional<data::Batch> batch = loader.next()) {
    visit(*batch, ops::to(output(batch->images), setup_.host));
  }
  skipped_[split] = static_cast<std::int64_t>(loader.skipped().size());
}

std::map<std::string, Tensor> DataTask::tensors(const Batch& batch) const {
  const data::Batch& data = data_of(batch);
  return {{"images", data.images}, {"targets", data.targets}};
}

double DataTask::wait_seconds() const { return loader_ ? loader_->wait_seconds() : 0; }

std::int64_t DataTask::skipped_samples() const {
  std::int64_t count = loader_ ? static_cast<std::int64_t>(loader_->skipped().size()) : 0;
  for (const auto& [split, skipped] : skipped_) count += skipped;
  return count;
}

}  // namespace fovea::training
