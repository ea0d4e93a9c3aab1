// Batches of texts, padded to the longest of each. The order of an epoch is a function of (seed,
// epoch) and every text's noise one of (seed, epoch, text), so an epoch can be entered at any
// batch. Texts lie in memory as numbers, so a batch takes microseconds and needs no thread of its
// own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/text_dataset.h"
#include "tensor/tensor.h"

namespace fovea::data {

struct TextLoaderOptions {
  std::int64_t batch_size = 32;
  /// Random order, in batches of about equal length (dataset.bucket_batches). Otherwise the longest
  /// texts come first, equally long ones in the order of the data set.
  bool shuffle = false;
  bool augment = false;  // training noise
  std::uint64_t seed = 0;
  std::optional<TextCorruptionLevel> corruption = {};  // evaluation noise on every text
};

struct TextBatch {
  Tensor ids;                         // (b, n) int64; Vocabulary::kPadding behind the end
  Tensor labels;                      // (b) int64
  std::vector<std::int64_t> indices;  // of the texts in the data set
  std::int64_t number = 0;            // position in the epoch
};

class TextLoader {
 public:
  /// device: a host device; batches live in its memory. Throws ConfigError for batch_size < 1.
  TextLoader(std::shared_ptr<const TextDataset> dataset, TextLoaderOptions options, Device device);

  std::int64_t num_batches() const;
  /// Begins an epoch at a batch; first_batch may be num_batches(), which leaves nothing.
  void start(std::int64_t epoch, std::int64_t first_batch = 0);
  /// The next batch, nothing after the last or before start().
  std::optional<TextBatch> next();

 private:
  std::vector<std::vector<std::int64_t>> shuffled_batches() const;
  std::vector<std::vector<std::int64_t>> sorted_batches() const;
  std::vector<std::vector<std::int64_t>> cut(const std::vector<std::int64_t>& order) const;

  std::shared_ptr<const TextDataset> dataset_;
  TextLoaderOptions options_;
  Device device_;
  std::int64_t epoch_ = 0;
  std::int64_t next_ = 0;
  std::vector<std::vector<std::int64_t>> batches_;  // of the epoch
};

}  // namespace fovea::data
