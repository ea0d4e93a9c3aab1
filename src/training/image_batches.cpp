#include "training/image_batches.h"

#include <algorithm>
#include <utility>

namespace fovea::training {
namespace {

std::unique_ptr<DataBatch> from(data::Batch&& loaded) {
  auto batch = std::make_unique<DataBatch>();
  batch->samples = loaded.images.size(0);
  batch->number = loaded.number;
  batch->inputs = std::move(loaded.images);
  batch->targets = std::move(loaded.targets);
  batch->indices = std::move(loaded.indices);
  return batch;
}

}  // namespace

ImageBatches::ImageBatches(ImageSplits splits, BatchOptions given)
    : BatchSource(std::move(given)), splits_(std::move(splits)) {
  if (!splits_.train) return;
  data::LoaderOptions o;
  o.batch_size = options().train.batch_size;
  o.num_workers = options().train.num_workers;
  o.shuffle = !options().overfit;
  o.augment = !options().overfit;
  o.seed = options().seed;
  loader_ = std::make_unique<data::DataLoader>(splits_.train, o, options().host);
}

Target ImageBatches::target() const {
  return splits_.any().has_masks() ? Target::kMasks : Target::kClasses;
}

std::int64_t ImageBatches::batches_per_epoch() const {
  return loader_ ? loader_->num_batches() : 0;
}

void ImageBatches::start_epoch(std::int64_t epoch, std::int64_t first_batch) {
  loader_->start(epoch, first_batch);
}

std::unique_ptr<DataBatch> ImageBatches::next() {
  std::optional<data::Batch> next = loader_->next();
  return next ? from(std::move(*next)) : nullptr;
}

void ImageBatches::each_batch(const std::string& split, const std::optional<NoiseLevel>& noise,
                              const Visit& visit) {
  data::LoaderOptions o;
  o.batch_size = options().eval_batch_size();
  o.num_workers = options().train.num_workers;
  o.seed = options().seed;
  if (noise)
    o.corruption = data::CorruptionLevel{data::corruption_from_name(noise->type), noise->level};
  data::DataLoader loader(splits_.find(split), o, options().host);
  loader.start(0);
  while (std::optional<data::Batch> next = loader.next()) visit(*from(std::move(*next)));
  skipped_[split] = static_cast<std::int64_t>(loader.skipped().size());
}

Tensor ImageBatches::input(const std::string& split, std::int64_t i) const {
  const data::Dataset& samples = images(split);
  Shape shape{1};
  for (const std::int64_t axis : samples.image_shape()) shape.push_back(axis);
  Tensor image = Tensor::empty(shape, DType::kFloat32, options().host);
  samples.prepare(i, {.seed = options().seed}, image.data<float>());
  return image;
}

std::string ImageBatches::sample_name(const std::string& split, std::int64_t i) const {
  return images(split).name(i);
}

const std::vector<std::string>& ImageBatches::class_names() const {
  return splits_.any().class_names();
}

NoiseGrid ImageBatches::noise_grid() const {
  const data::Noise& noise = splits_.any().eval_noise();
  NoiseGrid grid{{}, noise.levels};
  for (const data::Corruption type : noise.types) grid.types.emplace_back(data::name_of(type));
  return grid;
}

std::vector<std::string> ImageBatches::noise_types() const {
  std::vector<std::string> names;
  for (const data::Corruption type : data::all_corruptions())
    names.emplace_back(data::name_of(type));
  return names;
}

std::vector<std::string> ImageBatches::notes() const {
  std::vector<std::string> all;
  for (const auto& split : {splits_.train, splits_.val, splits_.test}) {
    if (split == nullptr) continue;
    for (const std::string& note : split->notes()) {
      // Splits may lie in one folder.
      if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(note);
    }
  }
  return all;
}

double ImageBatches::wait_seconds() const { return loader_ ? loader_->wait_seconds() : 0; }

std::int64_t ImageBatches::skipped_samples() const {
  std::int64_t count = loader_ ? static_cast<std::int64_t>(loader_->skipped().size()) : 0;
  for (const auto& [split, skipped] : skipped_) count += skipped;
  return count;
}

}  // namespace fovea::training
