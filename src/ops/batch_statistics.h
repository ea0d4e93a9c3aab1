// The statistics of a batch norm (ops/norm.h), for operations that have one inside.
#pragma once

#include <functional>
#include <vector>

#include "ops/norm.h"

namespace fovea::ops {

/// Throws ShapeError unless x is (b, c, spatial...), where only b may be 0, and norm's tensors fit,
/// or if `op` cannot be computed in this mode: one value per channel in training, no running
/// statistics in evaluation.
void check_batch_norm(const char* op, const BatchNorm& norm, const Tensor& x);

/// Training: counts the batch and moves the running statistics, if there are any, towards those of
/// a batch of `count` values per channel; 0 values move nothing.
void update_running(const BatchNorm& norm, const Tensor& mean, const Tensor& rstd,
                    std::int64_t count);

/// What a training batch does to running statistics.
struct MovedStatistics {
  Tensor running_mean, running_var, batches;  // those of the norm; batches may be undefined
  double momentum = 0;
  Tensor mean, variance;  // of the batch, unbiased; undefined: it had no values
};
/// Does it.
void apply(const MovedStatistics& moved);

/// While it lives, batches of this thread leave running statistics as they are, and what they would
/// have done is noted: training does not read them, so it may be done later, in another order. The
/// innermost one notes.
class KeepStatistics {
 public:
  KeepStatistics();
  ~KeepStatistics();
  KeepStatistics(const KeepStatistics&) = delete;
  KeepStatistics& operator=(const KeepStatistics&) = delete;
  /// In the order in which it happened.
  const std::vector<MovedStatistics>& moved() const { return moved_; }

 private:
  friend void update_running(const BatchNorm& norm, const Tensor& mean, const Tensor& rstd,
                             std::int64_t count);
  std::vector<MovedStatistics> moved_;
  KeepStatistics* outer_;
};

/// A batch that several processes hold a part of, each: its statistics are over all parts, as
/// PyTorch's SyncBatchNorm takes them.
struct SharedBatch {
  /// What every part gives, in the order of parts. All processes call it together, forward and
  /// backward, with as many numbers.
  std::function<std::vector<std::vector<double>>(const std::vector<double>& own)> gather;
  bool moves = true;  // running statistics: one of the processes does
};
/// While it lives, batch norms in training on this thread see the batch as a part of a shared one.
class ShareStatistics {
 public:
  /// `batch` outlives it, and the backward passes of what is computed meanwhile.
  explicit ShareStatistics(const SharedBatch& batch);
  ~ShareStatistics();
  ShareStatistics(const ShareStatistics&) = delete;
  ShareStatistics& operator=(const ShareStatistics&) = delete;
};
/// Null: there is none.
const SharedBatch* shared_batch();
/// batch_norm() of a part of a shared batch.
Tensor shared_batch_norm(const SharedBatch& batch, const BatchNorm& norm, const Tensor& x,
                         const Tensor& residual, bool relu);

/// Evaluation: mean and rstd (c) from the running statistics. Copies: training may change these
/// before backward reads them.
void read_running(const BatchNorm& norm, const Tensor& mean, const Tensor& rstd);

}  // namespace fovea::ops
