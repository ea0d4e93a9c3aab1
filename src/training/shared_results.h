// What the micro-batches of a step give besides gradients, on whatever rank each was computed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "ops/batch_statistics.h"
#include "parallel/bytes.h"
#include "parallel/ranks.h"
#include "training/tasks/task.h"

namespace fovea::training {

/// Losses, and the running statistics of batch norms. While it lives, those of several ranks are
/// kept back; finish() moves them on every rank, in the order of micro-batches, as one process
/// does.
class SharedResults {
 public:
  /// Both outlive it.
  SharedResults(const models::Model& model, parallel::Ranks& ranks);
  /// A micro-batch of this rank, in the order of places.
  void add(std::int64_t place, Task::LossParts loss);
  /// The losses of all micro-batches of the step, in the order of places, on all ranks.
  std::vector<Task::LossParts> finish();

 private:
  /// Of one micro-batch.
  struct Result {
    Task::LossParts loss;
    std::vector<ops::MovedStatistics> moved;
  };
  void write(std::int64_t place, const Result& result, parallel::Writer& to) const;
  Result read(parallel::Reader& from) const;

  const models::Model& model_;
  parallel::Ranks& ranks_;
  std::optional<ops::KeepStatistics> kept_;
  std::size_t seen_ = 0;  // of kept_
  std::map<std::int64_t, Result> results_;
  std::vector<Tensor> buffers_;  // of the model: messages name them by number
};

}  // namespace fovea::training
