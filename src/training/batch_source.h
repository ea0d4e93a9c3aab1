// Where the batches of a task come from: the splits of a data set of any kind.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/described/weight_files.h"
#include "data/identity.h"
#include "data/loader.h"
#include "data/volumes/volume_part.h"
#include "tensor/device.h"
#include "training/options.h"

namespace fovea::training {

using data::NoiseLevel;
/// The types and levels that a robustness evaluation walks through.
using NoiseGrid = data::Noise;

/// How batches are made, whatever the data are.
struct BatchOptions {
  TrainOptions train;
  std::uint64_t seed = 0;
  Device host;                  // batches live in its memory
  data::BatchShare share = {};  // of the training batches
  bool overfit = false;  // evaluate on the training samples, unshuffled and without augmentation
  /// What lies beside the weights of an opened run; null = nothing does.
  std::shared_ptr<const data::WeightFiles> beside = nullptr;

  std::int64_t eval_batch_size() const {
    return train.eval_batch_size > 0 ? train.eval_batch_size : train.batch_size;
  }
};

/// The parts of a data set; any may be missing. Used by one thread.
class BatchSource {
 public:
  /// At least one split is there, or the description of all.
  BatchSource(data::Splits splits, BatchOptions options);
  const BatchOptions& options() const { return options_; }
  /// The parts that can be evaluated: val and test, those of them that are there, or train alone;
  /// none of data that are described alone.
  /// selection.h says when each is.
  std::vector<data::Split> parts() const;
  bool has(data::Split split) const { return splits_.find(split) != nullptr; }
  /// Throws ConfigError for a split that is not there.
  const data::Dataset& at(data::Split split) const { return splits_.at(split); }
  /// For what all parts share. It may have no samples.
  const data::Dataset& any() const { return splits_.any(); }
  /// What samples consist of, in evaluations.
  const std::vector<data::Field>& fields() const { return splits_.any().fields(); }

  // Training batches. The order of an epoch is a function of the seed and the epoch.
  std::int64_t batches_per_epoch() const { return loader_ ? loader_->num_batches() : 0; }
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) {
    loader_->start(epoch, first_batch);
  }
  /// Nothing at the end of the epoch.
  std::optional<data::Batch> next() { return loader_->next(); }

  using Visit = std::function<void(const data::Batch&)>;
  /// Calls `visit` with the batches of a split that is there, of all or of a share, in the order of
  /// their numbers; those of which no sample can be read are left out. Returns how many there are
  /// in all. Throws ConfigError for an unknown type of noise.
  std::int64_t each_batch(data::Split split, const std::optional<NoiseLevel>& noise,
                          const Visit& visit, const data::BatchShare& share = {});
  /// Called by each_batch() after every batch with how many of all are done; {} = not at all.
  using Watch = std::function<void(std::int64_t done, std::int64_t total)>;
  void watch(Watch watch) { watch_ = std::move(watch); }
  /// One sample of a split as the network sees it, in a batch of its own.
  data::Batch one(data::Split split, std::int64_t i) const { return these(split, {i}); }
  /// Several of them, in this order.
  data::Batch these(data::Split split, const std::vector<std::int64_t>& indices) const;

  /// For reports: a file, or a file and a record.
  std::string sample_name(data::Split split, std::int64_t i) const { return at(split).name(i); }
  const std::vector<std::string>& class_names() const { return splits_.any().class_names(); }
  /// How many samples of train have each of these classes; empty without a part for training.
  std::vector<std::int64_t> class_counts() const;
  /// Of masks with several classes: whether the first one is the background.
  bool has_background() const { return splits_.any().has_background(); }
  /// What a network has an output for each.
  const std::vector<std::string>& output_names() const { return splits_.any().output_names(); }
  /// Whether the outputs are regions of the classes; of whole volumes alone.
  bool has_regions() const;
  /// Of whole volumes. Throws ConfigError for all others.
  const data::VolumeInfo& volume_info() const;

  /// That of the experiment file.
  const NoiseGrid& noise_grid() const { return splits_.any().eval_noise(); }
  /// Every type of noise there is.
  const std::vector<std::string>& noise_types() const { return splits_.any().noise_types(); }

  /// Texts without which weights mean nothing, by file name: what the data set says of itself
  /// (data.json) and its own files, e.g. a vocabulary, and the names of the classes in the order of
  /// the outputs. They are kept in the run folder and in every checkpoint.
  std::map<std::string, std::string> files() const;
  /// Throws FileError if the files of a checkpoint, which lie in `folder`, do not fit these data.
  /// Returns a line for what could not be compared: a checkpoint of an older program has no names
  /// of classes.
  std::vector<std::string> check_files(const std::map<std::string, std::string>& files,
                                       const std::string& folder) const;
  /// What identifies the data by their content (data::fingerprint), for summary.json and
  /// checkpoints.
  schema::Value fingerprint() const { return data::fingerprint(splits_); }
  /// splits.json: the names of the samples of every part.
  std::string sample_lists() const { return data::sample_lists(splits_); }
  /// Seconds spent waiting for data so far.
  double wait_seconds() const { return loader_ ? loader_->wait_seconds() : 0; }
  /// What a user should know of the files that were opened; one line each.
  std::vector<std::string> notes() const;
  /// Samples that were left out: when the splits were opened, and because they could not be read.
  std::int64_t skipped_samples() const;
  /// What was said of those that this process could not read, in training and in the last
  /// evaluation of each split.
  std::vector<std::string> unreadable_samples() const;

 private:
  data::Splits splits_;
  BatchOptions options_;
  std::unique_ptr<data::Loader> loader_;  // of train
  Watch watch_;
  // What was said of samples that could not be read in the last evaluation of each split.
  std::map<data::Split, std::vector<std::string>> skipped_;
};

}  // namespace fovea::training
