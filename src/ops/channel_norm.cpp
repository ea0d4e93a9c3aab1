// Group norm and batch norm (ops/norm.h). The residual sum and the ReLU that often follow a batch
// norm are part of it: what is kept for backward is its input and, with a residual, its output.
#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/batch_statistics.h"
#include "ops/normed_map.h"
#include "ops/relevance.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

void check_input(const char* op, const Tensor& x) {
  FOVEA_CHECK(x.rank() >= 2 && x.shape().part(1, x.rank()).numel() > 0, ShapeError,
              fmt::format("{}: x is {}; expected (b, c, spatial...) with c and spatial sizes of at "
                          "least 1",
                          op, to_string(x.shape())));
}

void check_per_channel(const char* op, const char* what, const Tensor& x, const Tensor& value) {
  const DType dtype = compute_dtype(x.dtype());
  FOVEA_CHECK(!value.defined() || (value.shape() == Shape{x.size(1)} && value.dtype() == dtype),
              ShapeError,
              fmt::format("{}: {} is {} {}; expected {} ({})", op, what, name_of(value.dtype()),
                          to_string(value.shape()), name_of(dtype), x.size(1)));
}

// Inputs of op: x, weight, bias, residual.
Tensor normalise(Op& op, const NormedMap& map) {
  Tensor y = Tensor::empty_like(map.x);
  backend(y).channel_norm(map, y);
  const bool gated = map.relu && map.residual.defined();
  // A result is made again only from what is kept anyway. So along a chain of residual sums every
  // second one is made again, from the one before it, which also says where the ReLU was open.
  const bool second = autograd::remake_of(map.residual) != nullptr;
  NormedMap kept = map;
  // With fixed statistics x is read for the gradient of the weight alone: a product more may be
  // less than memory for the largest map of every second block.
  const bool product = second && map.fixed_stats;
  const autograd::Kept x =
      product ? op.keep_or_remake(map.x, true, autograd::RemakeCost::kProduct) : autograd::Kept();
  kept.x = product ? Tensor() : op.keep(map.x);
  kept.norm.weight = op.keep(map.norm.weight);
  kept.norm.bias = op.keep(map.norm.bias);
  kept.residual = op.keep(map.residual, !second);
  const Tensor gate = gated && second ? op.keep_result(y) : Tensor();
  if (!second) op.remake(RemakeNormed{kept});
  if (!gated) kept.residual = {};
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    NormedMap of = kept;
    if (product) of.x = x.get();
    // Where no other tensor holds dy, one of the gradients is written over it.
    const Tensor room = dy.unique_storage() ? dy : Tensor();
    const auto like_dy = [&](const Tensor& memory) {
      return memory.defined() ? memory : Tensor::empty_like(dy);
    };
    const bool splits = in.wanted(3);
    ChannelNormGradients to;
    if (splits && gated) to.residual = like_dy(room);
    if (in.wanted(0)) to.x = like_dy(splits ? Tensor() : room);
    to.weight = in.empty(1);
    to.bias = in.empty(2);
    backend(dy).channel_norm_backward({.of = of, .y = gate, .dy = dy, .to = to});
    in.add(0, std::move(to.x));
    in.add(1, std::move(to.weight));
    in.add(2, std::move(to.bias));
    in.add(3, gated ? std::move(to.residual) : dy);
  });
}

}  // namespace

Tensor RemakeNormed::operator()() const {
  Tensor y = Tensor::empty_like(map.x);
  backend(y).channel_norm(map, y);
  return y;
}

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check_input("group_norm", x);
  FOVEA_CHECK(
      groups >= 1 && x.size(1) % groups == 0, ShapeError,
      fmt::format("group_norm: {} channels are not divisible by groups {}", x.size(1), groups));
  check_per_channel("group_norm", "weight", x, weight);
  check_per_channel("group_norm", "bias", x, bias);
  relevance::refuse("group_norm");
  Op op("group_norm", {x, weight, bias, Tensor()});
  const Tensor mean = Tensor::empty({x.size(0), groups}, compute_dtype(x.dtype()), x.device());
  const Tensor rstd = Tensor::empty_like(mean);
  backend(x).channel_norm_stats({.groups = groups, .eps = eps, .x = x, .mean = mean, .rstd = rstd});
  return normalise(op, {.x = x, .norm = {mean, rstd, weight, bias}, .groups = groups});
}

void check_batch_norm(const char* op, const BatchNorm& norm, const Tensor& x) {
  check_input(op, x);
  check_per_channel(op, "weight", x, norm.weight);
  check_per_channel(op, "bias", x, norm.bias);
  check_per_channel(op, "running_mean", x, norm.running_mean);
  check_per_channel(op, "running_var", x, norm.running_var);
  FOVEA_CHECK(!norm.training || x.numel() != x.size(1), ShapeError,
              fmt::format("{}: x is {}; training needs more than one value per channel", op,
                          to_string(x.shape())));
  FOVEA_CHECK(norm.training || (norm.running_mean.defined() && norm.running_var.defined()),
              ShapeError,
              fmt::format("{}: no running statistics were given; evaluation mode needs them", op));
}

Tensor batch_norm(const BatchNorm& norm, const Tensor& x, const Tensor& residual, bool relu) {
  check_batch_norm("batch_norm", norm, x);
  FOVEA_CHECK(
      !residual.defined() || (residual.shape() == x.shape() && residual.dtype() == x.dtype()),
      ShapeError,
      fmt::format("batch_norm: residual is {} {}; expected {} {} as x is",
                  name_of(residual.dtype()), to_string(residual.shape()), name_of(x.dtype()),
                  to_string(x.shape())));
  if (const SharedBatch* batch = shared_batch(); batch != nullptr && norm.training)
    return shared_batch_norm(*batch, norm, x, residual, relu);
  Op op(relu ? "batch_norm_relu" : "batch_norm", {x, norm.weight, norm.bias, residual});
  const Tensor mean = Tensor::empty({x.size(1)}, compute_dtype(x.dtype()), x.device());
  const Tensor rstd = Tensor::empty_like(mean);
  if (norm.training) {
    backend(x).channel_norm_stats({.eps = norm.eps, .x = x, .mean = mean, .rstd = rstd});
    update_running(norm, mean, rstd, x.numel() / x.size(1));
  } else {
    read_running(norm, mean, rstd);
  }
  return normalise(op, {.x = x,
                        .norm = {mean, rstd, norm.weight, norm.bias},
                        .residual = residual,
                        .relu = relu,
                        .fixed_stats = !norm.training});
}

}  // namespace fovea::ops
