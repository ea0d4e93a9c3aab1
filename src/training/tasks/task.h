// What the training loop needs to know of a task: batches, a loss, an evaluation. The loop knows
// neither images nor text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/parts/split.h"
#include "metrics/metric_info.h"
#include "nn/module.h"
#include "schema/json/value.h"
#include "tensor/tensor.h"

namespace fovea::training {

/// What an evaluation gave, in the order of reporting.
using Metrics = std::vector<metrics::Measurement>;

/// One micro-batch; a task derives its own.
struct Batch {
  virtual ~Batch() = default;
  std::int64_t samples = 0;  // the loss is a mean over this many
  std::int64_t number = 0;   // position in the epoch
};

class Task {
 public:
  virtual ~Task() = default;

  virtual nn::Module& model() = 0;

  // Training batches. The order of an epoch is a function of the seed and the epoch.
  virtual std::int64_t batches_per_epoch() const = 0;
  virtual void start_epoch(std::int64_t epoch, std::int64_t first_batch) = 0;
  /// nullptr at the end of the epoch.
  virtual std::unique_ptr<Batch> next_batch() = 0;
  /// Mean loss over the samples of a batch, a scalar, with gradients recorded. Called in training
  /// mode; the randomness has been set.
  virtual Tensor loss(const Batch& batch) = 0;

  /// The parts that can be evaluated: val and test, those of them that are there, or train alone.
  /// selection.h says when each is.
  virtual std::vector<data::Split> parts() const = 0;
  /// What evaluate() measures, known without training.
  virtual std::vector<metrics::MetricInfo> metrics() const = 0;
  /// The one of them that decides which weights are best.
  virtual metrics::MetricInfo monitor() const = 0;
  /// Called in evaluation mode without gradients.
  virtual Metrics evaluate(data::Split split) = 0;

  /// What a batch holds, saved beside a step that produced a non-finite value.
  virtual std::map<std::string, Tensor> tensors(const Batch&) const { return {}; }
  /// Texts without which the weights mean nothing, by file name, e.g. a vocabulary. They are kept
  /// in the run folder and in every checkpoint.
  virtual std::map<std::string, std::string> files() const { return {}; }
  /// Throws FileError if the files of a checkpoint do not fit this task; `folder` is where they
  /// lie. Returns a line for what could not be compared.
  virtual std::vector<std::string> check_files(const std::map<std::string, std::string>& /*files*/,
                                               const std::string& /*folder*/) const {
    return {};
  }
  /// What identifies the data by their content, {"hash": hex, "samples": {"train": n, ...}}; null
  /// where there is nothing to identify. Written to summary.json and to checkpoints.
  virtual schema::Value fingerprint() const { return {}; }
  /// splits.json: the names of the samples of every part, {"train": [...], ...}; "" for none.
  virtual std::string sample_lists() const { return {}; }
  /// Seconds spent waiting for data so far.
  virtual double wait_seconds() const { return 0; }
  /// Samples that could not be read and were left out.
  virtual std::int64_t skipped_samples() const { return 0; }
};

}  // namespace fovea::training
