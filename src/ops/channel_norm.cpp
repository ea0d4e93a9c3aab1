// Group norm and batch norm (ops/norm.h). The residual sum and the ReLU that often follow a batch
// norm are part of it: what is kept for backward is its input and, with a residual, its output.
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
  const DType dtype = compute_dtype(x.dtype());
  FOVEA_CHECK(!value.defined() || (value.shape() == Shape{x.size(1)} && value.dtype() == dtype),
              ShapeError,
              fmt::format("{}: {} is {} {}; expected {} ({})", op, what, name_of(value.dtype()),
                          to_string(value.shape()), name_of(dtype), x.size(1)));
}

// saved has all but y. Inputs of op: x, weight, bias, residual.
Tensor normalise(Op& op, const ChannelNormArgs& args, ChannelNormValues saved,
                 const Tensor& residual) {
  Tensor y = Tensor::empty_like(saved.x);
  backend(y).channel_norm(args, saved.x, saved.mean, saved.rstd, saved.weight, saved.bias, residual,
                          y);
  const bool gated = args.relu && residual.defined();
  if (gated) saved.y = y.detach();
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    // Where nobody else holds dy, one of the gradients takes its memory.
    const Tensor room = dy.unique_storage() ? dy : Tensor();
    const auto like_dy = [&](const Tensor& memory) {
      return memory.defined() ? memory : Tensor::empty_like(dy);
    };
    const bool splits = in.wanted(3);
    ChannelNormGradients to;
    if (splits && gated) to.residual = like_dy(room);
    if (in.wanted(0)) to.x = like_dy(splits ? Tensor() : room);
    if (in.wanted(1)) to.weight = Tensor::empty_like(saved.weight);
    if (in.wanted(2)) to.bias = Tensor::empty_like(saved.bias);
    backend(dy).channel_norm_backward(args, saved, dy, to);
    in.add(0, std::move(to.x));
    in.add(1, std::move(to.weight));
    in.add(2, std::move(to.bias));
    in.add(3, gated ? std::move(to.residual) : dy);
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
  Op op("group_norm", {x, weight, bias, Tensor()});
  const Tensor mean = Tensor::empty({x.size(0), groups}, compute_dtype(x.dtype()), x.device());
  const Tensor rstd = Tensor::empty_like(mean);
  backend(x).channel_norm_stats(groups, eps, x, mean, rstd);
  return normalise(op, {.groups = groups}, {x, mean, rstd, weight, bias, {}}, {});
}

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps, const Tensor& residual, bool relu) {
  check_input("batch_norm", x);
  check_per_channel("batch_norm", "weight", x, weight);
  check_per_channel("batch_norm", "bias", x, bias);
  check_per_channel("batch_norm", "running_mean", x, running_mean);
  check_per_channel("batch_norm", "running_var", x, running_var);
  FOVEA_CHECK(
      !residual.defined() || (residual.shape() == x.shape() && residual.dtype() == x.dtype()),
      ShapeError,
      fmt::format("batch_norm: residual is {} {}; expected {} {} as x is",
                  name_of(residual.dtype()), to_string(residual.shape()), name_of(x.dtype()),
                  to_string(x.shape())));
  const bool tracked = running_mean.defined() && running_var.defined();
  Op op("batch_norm", {x, weight, bias, residual});
  if (!training) {
    FOVEA_CHECK(tracked, ShapeError,
                "batch_norm: no running statistics were given; evaluation mode needs them");
    // A copy: training may move the statistics before backward asks for them.
    const Tensor mean = Tensor::empty_like(running_mean);
    backend(x).cast(running_mean, mean);
    const Tensor rstd = Tensor::empty_like(running_var);
    backend(x).unary(UnaryOp::kAffine, {1, eps}, running_var, rstd);
    backend(x).unary(UnaryOp::kRsqrt, {}, rstd, rstd);
    return normalise(op, {.fixed_stats = true, .relu = relu}, {x, mean, rstd, weight, bias, {}},
                     residual);
  }
  const std::int64_t count = x.numel() / x.size(1);
  FOVEA_CHECK(count > 1, ShapeError,
              fmt::format("batch_norm: x is {}; training needs more than one value per channel",
                          to_string(x.shape())));
  const Tensor mean = Tensor::empty({x.size(1)}, compute_dtype(x.dtype()), x.device());
  const Tensor rstd = Tensor::empty_like(mean);
  backend(x).channel_norm_stats(0, eps, x, mean, rstd);
  if (tracked) update_running(mean, rstd, running_mean, running_var, momentum, eps, count);
  return normalise(op, {.relu = relu}, {x, mean, rstd, weight, bias, {}}, residual);
}

}  // namespace fovea::ops
