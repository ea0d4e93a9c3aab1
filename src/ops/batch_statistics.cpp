#include "ops/batch_statistics.h"

#include <fmt/format.h>

#include <limits>

#include "backend/backend.h"
#include "base/error.h"
#include "ops/normed_map.h"

namespace fovea::ops {
namespace {

thread_local KeepStatistics* keeps = nullptr;

// The count is not read here; files exchanged with PyTorch have it.
void count_batch(const Tensor& batches) {
  if (!batches.defined()) return;
  const Backend& kernels = backend(batches);
  const Tensor count = Tensor::empty(Shape{}, kernels.widest(), batches.device());
  kernels.cast(batches, count);
  kernels.unary(UnaryOp::kAffine, {1, 1}, count, count);
  kernels.cast(count, batches);
  batches.written("batch_norm");
}

// The variance is recovered from rstd, and divided by n - 1 where rstd has n.
Tensor unbiased_variance(const Tensor& rstd, double eps, std::int64_t count) {
  const Backend& kernels = backend(rstd);
  const double n = static_cast<double>(count);
  const double unbiased = n / (n - 1);
  const Tensor variance = Tensor::empty_like(rstd);
  kernels.unary(UnaryOp::kSquare, {}, rstd, variance);
  kernels.unary(UnaryOp::kReciprocal, {}, variance, variance);
  kernels.unary(UnaryOp::kAffine, {unbiased, -eps * unbiased}, variance, variance);
  // A constant channel may come out a rounding error below zero.
  kernels.unary(UnaryOp::kClamp, {0, std::numeric_limits<double>::infinity()}, variance, variance);
  return variance;
}

}  // namespace

KeepStatistics::KeepStatistics() : outer_(keeps) { keeps = this; }
KeepStatistics::~KeepStatistics() { keeps = outer_; }

// running = (1 - momentum) running + momentum batch.
void apply(const MovedStatistics& moved) {
  count_batch(moved.batches);
  if (!moved.mean.defined()) return;
  backend(moved.mean)
      .ema(1 - moved.momentum,
           {{moved.mean, moved.running_mean}, {moved.variance, moved.running_var}});
  moved.running_mean.written("batch_norm");
  moved.running_var.written("batch_norm");
}

void update_running(const BatchNorm& norm, const Tensor& mean, const Tensor& rstd,
                    std::int64_t count) {
  MovedStatistics moved{.running_mean = norm.running_mean,
                        .running_var = norm.running_var,
                        .batches = norm.batches,
                        .momentum = norm.momentum,
                        .mean = {},
                        .variance = {}};
  if (count > 0 && norm.running_mean.defined() && norm.running_var.defined()) {
    moved.mean = mean;
    moved.variance = unbiased_variance(rstd, norm.eps, count);
  }
  if (keeps == nullptr) {
    apply(moved);
  } else {
    keeps->moved_.push_back(std::move(moved));
  }
}

void read_running(const BatchNorm& norm, const Tensor& mean, const Tensor& rstd) {
  const Backend& kernels = backend(mean);
  kernels.cast(norm.running_mean, mean);
  kernels.unary(UnaryOp::kAffine, {1, norm.eps}, norm.running_var, rstd);
  kernels.unary(UnaryOp::kRsqrt, {}, rstd, rstd);
}

}  // namespace fovea::ops
