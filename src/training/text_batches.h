// Batches of texts with classes.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "data/identity.h"
#include "data/text_loader.h"
#include "training/batch_source.h"

namespace fovea::training {

/// Name of the vocabulary in run folders and checkpoints.
inline constexpr const char* kVocabularyFile = "vocabulary.txt";

/// Evaluation batches begin with the longest texts.
class TextBatches final : public BatchSource {
 public:
  /// At least one split is there; all share a vocabulary.
  TextBatches(data::TextSplits splits, BatchOptions options);

  Target target() const override { return Target::kClasses; }
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
  std::map<std::string, std::string> files() const override;
  void check_files(const std::map<std::string, std::string>& files,
                   const std::string& folder) const override;
  schema::Value fingerprint() const override { return data::fingerprint(splits_); }
  std::string sample_lists() const override { return data::sample_lists(splits_); }
  std::int64_t skipped_samples() const override;

  /// Throws ConfigError for a split that is not there.
  const data::TextDataset& texts(const std::string& split) const { return splits_.at(split); }

 private:
  data::TextSplits splits_;
  std::unique_ptr<data::TextLoader> loader_;  // of train
};

}  // namespace fovea::training
