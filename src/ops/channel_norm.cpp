// Group norm and batch norm (ops/norm.h).
#include <fmt/format.h>

#include <limits>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/norm.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

void check_input(const char* op, const Tensor& x) {
  FOVEA_CHECK(x.rank() >= 2 && x.numel() > 0, ShapeError,
              fmt::format("{}: x is {}; expected (b, c, spatial...) with elements", op,
                          to_string(x.shape())));
}

void check_per_channel(const char* op, const char* what, const Tensor& x, const Tensor& value) {
  FOVEA_CHECK(!value.defined() || (value.shape() == Shape{x.size(1)} && value.dtype() == x.dtype()),
              ShapeError,
              fmt::format("{}: {} is {} {}; expected {} ({})", op, what, name_of(value.dtype()),
                          to_string(value.shape()), name_of(x.dtype()), x.size(1)));
}

Tensor gradient_for(bool wanted, const Tensor& like) {
  return wanted ? Tensor::empty_like(like) : Tensor();
}

Tensor normalise(Op& op, std::int64_t groups, bool fixed_stats, const Tensor& x,
                 const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& rstd) {
  Tensor y = Tensor::empty_like(x);
  backend(x).channel_norm(groups, x, mean, rstd, weight, bias, y);
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    Tensor dx = gradient_for(in.wanted(0), x);
    Tensor dweight = gradient_for(in.wanted(1), weight);
    Tensor dbias = gradient_for(in.wanted(2), bias);
    backend(x).channel_norm_backward(groups, fixed_stats, x, mean, rstd, weight, dy, dx, dweight,
                                     dbias);
    if (dx.defined()) in.add(0, std::move(dx));
    if (dweight.defined()) in.add(1, std::move(dweight));
    if (dbias.defined()) in.add(2, std::move(dbias));
  });
}

// running = (1 - momentum) running + momentum batch. The variance is recovered from rstd, and
// divided by n - 1 where rstd has n.
void update_running(const Tensor& mean, const Tensor& rstd, const Tensor& running_mean,
                    const Tensor& running_var, double momentum, double eps, std::int64_t count) {
  const Backend& kernels = backend(mean);
  const double n = static_cast<double>(count);
  const double unbiased = n / (n - 1);
  const Tensor variance = Tensor::empty_like(rstd);
  kernels.unary(UnaryOp::kSquare, {}, rstd, variance);
  kernels.unary(UnaryOp::kReciprocal, {}, variance, variance);
  kernels.unary(UnaryOp::kAffine, {unbiased, -eps * unbiased}, variance, variance);
  // A constant channel may come out a rounding error below zero.
  kernels.unary(UnaryOp::kClamp, {0, std::numeric_limits<double>::infinity()}, variance, variance);
  kernels.ema(1 - momentum, mean, running_mean);
  kernels.ema(1 - momentum, variance, running_var);
}

}  // namespace

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check_input("group_norm", x);
  FOVEA_CHECK(
      groups >= 1 && x.size(1) % groups == 0, ShapeError,
      fmt::format("group_norm: {} channels are not divisible by groups {}", x.size(1), groups));
  check_per_channel("group_norm", "weight", x, weight);
  check_per_channel("group_norm", "bias", x, bias);
  Op op("group_norm", {x, weight, bias});
  const Tensor mean = Tensor::empty({x.size(0), groups}, x.dtype(), x.device());
  const Tensor rstd = Tensor::empty_like(mean);
  backend(x).channel_norm_stats(groups, eps, x, mean, rstd);
  return normalise(op, groups, false, x, weight, bias, mean, rstd);
}

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps) {
  check_input("batch_norm", x);
  check_per_channel("batch_norm", "weight", x, weight);
  check_per_channel("batch_norm", "bias", x, bias);
  check_per_channel("batch_norm", "running_mean", x, running_mean);
  check_per_channel("batch_norm", "running_var", x, running_var);
  const bool tracked = running_mean.defined() && running_var.defined();
  Op op("batch_norm", {x, weight, bias});
  if (!training) {
    FOVEA_CHECK(tracked, ShapeError,
                "batch_norm: no running statistics were given; evaluation mode needs them");
    // A copy: training may move the statistics before backward asks for them.
    const Tensor mean = Tensor::empty_like(running_mean);
    backend(x).cast(running_mean, mean);
    const Tensor rstd = Tensor::empty_like(running_var);
    backend(x).unary(UnaryOp::kAffine, {1, eps}, running_var, rstd);
    backend(x).unary(UnaryOp::kRsqrt, {}, rstd, rstd);
    return normalise(op, 0, true, x, weight, bias, mean, rstd);
  }
  const std::int64_t count = x.numel() / x.size(1);
  FOVEA_CHECK(count > 1, ShapeError,
              fmt::format("batch_norm: x is {}; training needs more than one value per channel",
                          to_string(x.shape())));
  const Tensor mean = Tensor::empty({x.size(1)}, x.dtype(), x.device());
  const Tensor rstd = Tensor::empty_like(mean);
  backend(x).channel_norm_stats(0, eps, x, mean, rstd);
  if (tracked) update_running(mean, rstd, running_mean, running_var, momentum, eps, count);
  return normalise(op, 0, false, x, weight, bias, mean, rstd);
}

}  // namespace fovea::ops
