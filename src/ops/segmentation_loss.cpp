// Losses of probability maps against masks (ops/loss.h). kcla 5.4.
#include <fmt/format.h>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

void check_maps(const char* name, const Tensor& prob, const Tensor& target) {
  FOVEA_CHECK(prob.shape() == target.shape() && prob.rank() >= 1, ShapeError,
              fmt::format("{}: probabilities are {}, targets {}; expected equal shapes (b, ...)",
                          name, to_string(prob.shape()), to_string(target.shape())));
}

// max(ln x, -100). Below `tiny`, where the bound holds or x is denormal, it is a constant, so that
// neither value nor gradient meets ln 0 or 1 / 0.
Tensor bounded_log(const Tensor& x) {
  const double tiny = x.dtype() == DType::kFloat64 ? 3.72007597602083596e-44 : 1.1754944e-38;
  const Tensor bound = full({}, tiny, x.dtype(), x.device());
  const Tensor least = full({}, -100, x.dtype(), x.device());
  return where(greater(x, bound), log(maximum(x, bound)), least);
}

}  // namespace

Tensor bce(const Tensor& prob, const Tensor& target, Reduction reduction) {
  check_maps("bce", prob, target);
  const Tensor loss = neg(add(mul(target, bounded_log(prob)),
                              mul(affine(target, -1, 1), bounded_log(affine(prob, -1, 1)))));
  if (reduction == Reduction::kMean) return mean(loss);
  if (reduction == Reduction::kSum) return sum(loss);
  return loss;
}

Tensor dice_loss(const Tensor& prob, const Tensor& target, double smooth) {
  check_maps("dice_loss", prob, target);
  const Shape items{prob.size(0), prob.shape().part(1, prob.rank()).numel()};
  const Tensor p = reshape(prob, items);
  const Tensor t = reshape(target, items);
  const Tensor both = affine(sum(mul(p, t), {1}), 2, smooth);
  const Tensor all = add(add(sum(p, {1}), sum(t, {1})), smooth);
  return mean(affine(div(both, all), -1, 1));
}

Tensor bce_dice(const Tensor& prob, const Tensor& target, const BceDiceOptions& options) {
  return add(mul(dice_loss(prob, target, options.smooth), options.dice_weight),
             mul(bce(prob, target), options.bce_weight));
}

Tensor bce_dice(const Tensor& prob, const std::vector<Tensor>& auxiliary,
                const std::vector<double>& weights, const Tensor& target,
                const BceDiceOptions& options) {
  FOVEA_CHECK(auxiliary.size() == weights.size(), ShapeError,
              fmt::format("bce_dice: {} auxiliary maps, {} weights; expected one each",
                          auxiliary.size(), weights.size()));
  Tensor loss = bce_dice(prob, target, options);
  for (std::size_t i = 0; i < auxiliary.size(); ++i) {
    loss = add(loss, mul(bce_dice(auxiliary[i], target, options), weights[i]));
  }
  return loss;
}

}  // namespace fovea::ops
