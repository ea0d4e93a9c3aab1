// The statistics of a batch norm (ops/norm.h), for operations that have one inside.
#pragma once

#include "ops/norm.h"

namespace fovea::ops {

/// Throws ShapeError unless x is (b, c, spatial...), where only b may be 0, and norm's tensors fit,
/// or if `op` cannot be computed in this mode: one value per channel in training, no running
/// statistics in evaluation.
void check_batch_norm(const char* op, const BatchNorm& norm, const Tensor& x);

/// Training: moves the running statistics, if there are any, towards those of a batch of `count`
/// values per channel; 0 values move nothing. Undefined where they are not tracked.
void update_running(const BatchNorm& norm, const Tensor& mean, const Tensor& rstd,
                    std::int64_t count);

/// Evaluation: mean and rstd (c) from the running statistics. Copies: training may change these
/// before backward reads them.
void read_running(const BatchNorm& norm, const Tensor& mean, const Tensor& rstd);

}  // namespace fovea::ops
