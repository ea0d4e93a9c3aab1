// Where the batches of a task come from: images or texts, with classes or masks. A task knows only
// this interface, so every task works on every kind of data; a new kind of data is one class.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/value.h"
#include "tensor/device.h"
#include "training/options.h"
#include "training/task.h"

namespace fovea::training {

/// What the network takes and what it should put out, on the host.
struct DataBatch final : Batch {
  Tensor inputs;                      // (b, ...)
  Tensor targets;                     // (b) int64 classes, or (b, ...) float32 masks
  std::vector<std::int64_t> indices;  // of the samples in the split
};

/// What the targets are.
enum class Target { kClasses, kMasks };

/// Evaluation noise on every sample, by the name of its type.
struct NoiseLevel {
  std::string type;
  double level = 0.1;
};

/// The types and levels that a robustness evaluation walks through.
struct NoiseGrid {
  std::vector<std::string> types;
  std::vector<double> levels;
  bool empty() const { return types.empty() || levels.empty(); }
};

/// How batches are made, whatever the data are.
struct BatchOptions {
  TrainOptions train;
  std::uint64_t seed = 0;
  Device host;           // batches live in its memory
  bool overfit = false;  // evaluate on the training samples, unshuffled and without augmentation

  std::int64_t eval_batch_size() const {
    return train.eval_batch_size > 0 ? train.eval_batch_size : train.batch_size;
  }
};

/// The splits "train", "val" and "test"; any may be missing. Used by one thread.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  const BatchOptions& options() const { return options_; }
  virtual Target target() const = 0;

  // Training batches. The order of an epoch is a function of the seed and the epoch.
  virtual std::int64_t batches_per_epoch() const = 0;
  virtual void start_epoch(std::int64_t epoch, std::int64_t first_batch) = 0;
  /// nullptr at the end of the epoch.
  virtual std::unique_ptr<DataBatch> next() = 0;

  virtual bool has(const std::string& split) const = 0;
  using Visit = std::function<void(const DataBatch&)>;
  /// Calls `visit` with all batches of a split that is there, in any order. Throws ConfigError for
  /// an unknown type of noise.
  virtual void each_batch(const std::string& split, const std::optional<NoiseLevel>& noise,
                          const Visit& visit) = 0;
  /// One sample of a split that is there as the network sees it, (1, ...).
  virtual Tensor input(const std::string& split, std::int64_t i) const = 0;
  /// For reports: a file, or a file and a record.
  virtual std::string sample_name(const std::string& split, std::int64_t i) const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;

  /// That of the experiment file.
  virtual NoiseGrid noise_grid() const = 0;
  /// Every type of noise there is.
  virtual std::vector<std::string> noise_types() const = 0;

  /// As Task::files and Task::check_files.
  virtual std::map<std::string, std::string> files() const { return {}; }
  virtual void check_files(const std::map<std::string, std::string>& /*files*/,
                           const std::string& /*folder*/) const {}
  /// As Task::fingerprint and Task::sample_lists.
  virtual schema::Value fingerprint() const { return {}; }
  virtual std::string sample_lists() const { return {}; }
  /// Seconds spent waiting for data so far.
  virtual double wait_seconds() const { return 0; }
  /// What a user should know of the files that were opened; one line each.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Samples that could not be read and were left out.
  virtual std::int64_t skipped_samples() const { return 0; }

 protected:
  explicit BatchSource(BatchOptions options) : options_(std::move(options)) {}

 private:
  BatchOptions options_;
};

}  // namespace fovea::training
