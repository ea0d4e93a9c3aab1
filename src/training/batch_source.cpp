#include "training/batch_source.h"

#include <algorithm>
#include <utility>

namespace fovea::training {

BatchSource::BatchSource(data::Splits splits, BatchOptions options)
    : splits_(std::move(splits)), options_(std::move(options)) {
  if (!splits_.train) return;
  data::LoaderOptions o;
  o.batch_size = options_.train.batch_size;
  o.num_workers = options_.train.num_workers;
  o.shuffle = !options_.overfit;
  o.augment = !options_.overfit;
  o.seed = options_.seed;
  loader_ = std::make_unique<data::Loader>(splits_.train, o, options_.host);
  if (auto whole = splits_.train->for_evaluation()) splits_.train = std::move(whole);
}

void BatchSource::each_batch(const std::string& split, const std::optional<NoiseLevel>& noise,
                             const Visit& visit) {
  data::LoaderOptions o;
  o.batch_size = data::one_a_batch(at(split).fields()) ? 1 : options_.eval_batch_size();
  o.num_workers = options_.train.num_workers;
  o.seed = options_.seed;
  o.corruption = noise;
  data::Loader loader(splits_.find(split), o, options_.host);
  loader.start(0);
  while (const std::optional<data::Batch> batch = loader.next()) visit(*batch);
  skipped_[split] = std::ssize(loader.skipped());
}

data::Batch BatchSource::one(const std::string& split, std::int64_t i) const {
  const data::Dataset& samples = at(split);
  data::Collator collator(samples.fields(), 1, options_.host);
  data::Sample sample;
  collator.next(sample);
  samples.prepare(i, {.seed = options_.seed}, sample);
  collator.add(sample);
  return collator.finish();
}

std::vector<std::string> BatchSource::notes() const {
  std::vector<std::string> all;
  for (const auto& split : splits_.all()) {
    for (const std::string& note : split->notes()) {
      // Splits may lie in one folder.
      if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(note);
    }
  }
  return all;
}

std::int64_t BatchSource::skipped_samples() const {
  std::int64_t count = loader_ ? std::ssize(loader_->skipped()) : 0;
  for (const auto& [split, skipped] : skipped_) count += skipped;
  for (const auto& split : splits_.all()) count += std::ssize(split->left_out());
  return count;
}

}  // namespace fovea::training
