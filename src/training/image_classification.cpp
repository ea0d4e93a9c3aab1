#include "training/image_classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "training/weights.h"

namespace fovea::training {

struct ImageClassification::ImageBatch : Batch {
  data::Batch data;
};

ImageClassification::ImageClassification(models::Model& model, ImageClassificationSetup setup)
    : model_(model), setup_(std::move(setup)), loss_(make_class_loss(setup_.loss)) {
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

std::int64_t ImageClassification::batches_per_epoch() const {
  return loader_ ? loader_->num_batches() : 0;
}

void ImageClassification::start_epoch(std::int64_t epoch, std::int64_t first_batch) {
  loader_->start(epoch, first_batch);
}

std::unique_ptr<Batch> ImageClassification::next_batch() {
  std::optional<data::Batch> next = loader_->next();
  if (!next) return nullptr;
  auto batch = std::make_unique<ImageBatch>();
  batch->samples = next->images.size(0);
  batch->number = next->number;
  batch->data = std::move(*next);
  return batch;
}

Tensor ImageClassification::logits(const Tensor& images) {
  const Tensor there = ops::to(images, device_);
  return model_(there.dtype() == dtype_ ? there : ops::cast(there, dtype_));
}

Tensor ImageClassification::loss(const Batch& batch) {
  const data::Batch& data = static_cast<const ImageBatch&>(batch).data;
  return loss_(logits(data.images), ops::to(data.labels, device_));
}

std::vector<std::string> ImageClassification::splits() const {
  if (setup_.overfit) return {"train"};
  if (setup_.val) return {"val"};
  return {setup_.test ? "test" : "train"};
}

std::string ImageClassification::final_split() const {
  return !setup_.overfit && setup_.val && setup_.test ? "test" : "";
}

const std::shared_ptr<const data::Dataset>& ImageClassification::dataset(
    const std::string& split) const {
  const auto& found = split == "train" ? setup_.train : split == "val" ? setup_.val : setup_.test;
  FOVEA_CHECK(found != nullptr && (split == "train" || split == "val" || split == "test"),
              ConfigError, fmt::format("dataset: has no split \"{}\"", split));
  return found;
}

Metrics ImageClassification::evaluate(const std::string& split) {
  return evaluate_in_full(split).metrics;
}

ImageClassification::Evaluation ImageClassification::evaluate_in_full(
    const std::string& split, std::optional<data::CorruptionLevel> corruption) {
  const autograd::NoGrad no_grad;
  const std::shared_ptr<const data::Dataset>& samples = dataset(split);
  data::LoaderOptions options;
  const std::int64_t batch_size = setup_.options.eval_batch_size;
  options.batch_size = batch_size > 0 ? batch_size : setup_.options.batch_size;
  options.num_workers = setup_.options.num_workers;
  options.seed = setup_.seed;
  options.corruption = corruption;
  data::DataLoader loader(samples, options, setup_.host);
  loader.start(0);

  const std::int64_t classes = samples->num_classes();
  Evaluation result{{}, metrics::ConfusionMatrix(classes), {}, {}, {}};
  metrics::RunningMean loss;
  std::int64_t top1 = 0;
  std::int64_t top5 = 0;
  while (const std::optional<data::Batch> batch = loader.next()) {
    const Tensor scores = ops::to(logits(batch->images), setup_.host);
    const std::vector<std::int64_t> predicted = metrics::predictions(scores);
    const auto truth = batch->labels.values<std::int64_t>();
    loss.add(scalar_of(ops::cross_entropy(scores, batch->labels)),
             static_cast<double>(truth.size()));
    top1 += metrics::top_k_correct(scores, batch->labels, 1);
    top5 += metrics::top_k_correct(scores, batch->labels, 5);
    result.confusion.add(truth, predicted);
    result.labels.insert(result.labels.end(), truth.begin(), truth.end());
    result.predictions.insert(result.predictions.end(), predicted.begin(), predicted.end());
    result.indices.insert(result.indices.end(), batch->indices.begin(), batch->indices.end());
  }
  skipped_[split] = static_cast<std::int64_t>(loader.skipped().size());
  const auto percent = [&](std::int64_t correct) {
    return 100.0 * static_cast<double>(correct) / loss.weight();
  };
  result.metrics = {{"loss", loss.value()}, {"top1", percent(top1)}};
  if (classes > 5) result.metrics.emplace_back("top5", percent(top5));
  return result;
}

std::map<std::string, Tensor> ImageClassification::tensors(const Batch& batch) const {
  const data::Batch& data = static_cast<const ImageBatch&>(batch).data;
  return {{"images", data.images}, {"labels", data.labels}};
}

double ImageClassification::wait_seconds() const { return loader_ ? loader_->wait_seconds() : 0; }

std::int64_t ImageClassification::skipped_samples() const {
  std::int64_t count = loader_ ? static_cast<std::int64_t>(loader_->skipped().size()) : 0;
  for (const auto& [split, skipped] : skipped_) count += skipped;
  return count;
}

}  // namespace fovea::training
