// Batches of any data set, prepared on background threads. The order of an epoch (plan.h) is a
// function of (seed, epoch) and every sample's randomness one of (seed, epoch, sample), so nothing
// depends on the number of workers, and an epoch can be entered at any batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "tensor/device.h"

namespace fovea::data {

/// Which batches of an epoch are prepared here, where several processes share them: of each `group`
/// of batches in a row, counted from the one that the epoch is entered at, those at places rank,
/// rank + ranks, ...
struct BatchShare {
  std::int64_t group = 1;
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
  bool has(std::int64_t batch, std::int64_t first_batch) const {
    return (batch - first_batch) % group % ranks == rank;
  }
};

struct LoaderOptions {
  std::int64_t batch_size = 128;
  /// Threads; 0 prepares each batch in next().
  std::int64_t num_workers = 1;
  /// Batches that may be ready or in work before the caller takes them; at least 1.
  std::int64_t prefetch = 4;
  bool shuffle = false;
  bool balanced = false;  // shuffled: classes are drawn equally often (PlanOptions::balanced)
  bool augment = false;   // the data set's augment list and training noise
  std::uint64_t seed = 0;
  std::optional<NoiseLevel> corruption = {};  // evaluation noise on every sample
  BatchShare share = {};
};

/// Used by one thread. May be destroyed or restarted at any moment.
class Loader {
 public:
  /// device: a host device; batches live in its memory. Throws ConfigError for options out of
  /// range, BackendError for a device whose memory the host cannot write.
  Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options, Device device);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Batches of a whole epoch, those of other processes too.
  std::int64_t num_batches() const;
  /// Begins an epoch at a batch; what was being prepared is dropped. first_batch may be
  /// num_batches(), which leaves nothing.
  void start(std::int64_t epoch, std::int64_t first_batch = 0);
  /// The next batch, nothing after the last or before start(). With on_bad_sample "skip" a batch
  /// may be smaller than batch_size, and one without a readable sample is passed over. Throws what
  /// went wrong in the preparation of this batch, and FileError at the end of a whole epoch of
  /// which nothing could be read; later calls throw it again until start().
  std::optional<Batch> next();

  /// Threads at work: fewer than num_workers where the system gave no more.
  std::int64_t workers() const;
  /// Seconds that next() has spent waiting for, or preparing, batches since construction.
  double wait_seconds() const;
  /// Samples left out because they could not be read: one message each, in order of index.
  std::vector<std::string> skipped() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fovea::data
