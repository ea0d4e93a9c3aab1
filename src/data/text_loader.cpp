#include "data/text_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace fovea::data {

using Batches = std::vector<std::vector<std::int64_t>>;

TextLoader::TextLoader(std::shared_ptr<const TextDataset> dataset, TextLoaderOptions options,
                       Device device)
    : dataset_(std::move(dataset)), options_(options), device_(std::move(device)) {
  FOVEA_CHECK(dataset_ != nullptr, ConfigError, "loader: no data set");
  FOVEA_CHECK(options_.batch_size >= 1, ConfigError,
              fmt::format("loader: batch_size is {}; expected at least 1", options_.batch_size));
}

std::int64_t TextLoader::num_batches() const {
  return (dataset_->size() + options_.batch_size - 1) / options_.batch_size;
}

Batches TextLoader::cut(const std::vector<std::int64_t>& order) const {
  Batches batches;
  const std::int64_t samples = std::ssize(order);
  for (std::int64_t begin = 0; begin < samples; begin += options_.batch_size) {
    const std::int64_t end = std::min(samples, begin + options_.batch_size);
    batches.emplace_back(order.begin() + begin, order.begin() + end);
  }
  return batches;
}

// A permutation, sorted by length within pieces of bucket_batches batches; then the batches are
// shuffled, so that their length says nothing about their place in the epoch.
Batches TextLoader::shuffled_batches() const {
  const RandomStream stream =
      RandomStream(options_.seed).fork("shuffle").fork(static_cast<std::uint64_t>(epoch_));
  std::vector<std::int64_t> order = stream.permutation(dataset_->size());
  const std::int64_t bucket = dataset_->options().bucket_batches * options_.batch_size;
  if (bucket == 0) return cut(order);
  const std::int64_t samples = std::ssize(order);
  for (std::int64_t begin = 0; begin < samples; begin += bucket) {
    std::stable_sort(
        order.begin() + begin, order.begin() + std::min(samples, begin + bucket),
        [&](std::int64_t a, std::int64_t b) { return dataset_->length(a) < dataset_->length(b); });
  }
  Batches in_order = cut(order);
  Batches batches;
  for (const std::int64_t i : stream.fork("batches").permutation(std::ssize(in_order)))
    batches.push_back(std::move(in_order[static_cast<std::size_t>(i)]));
  return batches;
}

Batches TextLoader::sorted_batches() const {
  std::vector<std::int64_t> order(static_cast<std::size_t>(dataset_->size()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return dataset_->length(a) > dataset_->length(b);
  });
  return cut(order);
}

void TextLoader::start(std::int64_t epoch, std::int64_t first_batch) {
  FOVEA_CHECK(first_batch >= 0 && first_batch <= num_batches(), ConfigError,
              fmt::format("loader: cannot start at batch {} of {}", first_batch, num_batches()));
  epoch_ = epoch;
  next_ = first_batch;
  batches_ = options_.shuffle ? shuffled_batches() : sorted_batches();
}

std::optional<TextBatch> TextLoader::next() {
  if (next_ >= std::ssize(batches_)) return std::nullopt;
  TextBatch batch;
  batch.number = next_;
  batch.indices = batches_[static_cast<std::size_t>(next_++)];
  const TextDraw draw{options_.seed, epoch_, options_.augment, options_.corruption};
  std::vector<Ids> texts;
  std::vector<std::int64_t> labels;
  std::int64_t width = dataset_->options().pad_to_max ? dataset_->options().max_len : 1;
  for (const std::int64_t i : batch.indices) {
    texts.push_back(dataset_->encode(i, draw));
    labels.push_back(dataset_->label(i));
    width = std::max<std::int64_t>(width, std::ssize(texts.back()));
  }
  std::vector<std::int64_t> padded;
  padded.reserve(texts.size() * static_cast<std::size_t>(width));
  for (const Ids& text : texts) {
    padded.insert(padded.end(), text.begin(), text.end());
    padded.insert(padded.end(), static_cast<std::size_t>(width - std::ssize(text)),
                  Vocabulary::kPadding);
  }
  const std::int64_t rows = std::ssize(texts);
  batch.ids = Tensor::from(padded, {rows, width}, device_);
  batch.labels = Tensor::from(labels, {rows}, device_);
  return batch;
}

}  // namespace fovea::data
