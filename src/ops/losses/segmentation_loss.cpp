// Losses of maps against masks and labels (ops/losses/loss.h).
#include <fmt/format.h>

#include "base/error.h"
#include "ops/conv/convolution.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/labels.h"
#include "ops/losses/loss.h"
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

Tensor classes_last(const char* op, const Tensor& logits, const Tensor& target) {
  check_label_map(op, logits, target);
  std::vector<int> order{0};
  for (int axis = 2; axis < logits.rank(); ++axis) order.push_back(axis);
  order.push_back(1);
  return permute(logits, order);
}

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

Tensor pixel_cross_entropy(const Tensor& logits, const Tensor& target,
                           const CrossEntropyOptions& options) {
  return cross_entropy(classes_last("cross_entropy", logits, target), target, options);
}

Tensor label_dice(const Tensor& logits, const Tensor& target, const LabelDiceOptions& options) {
  const Tensor rows = classes_last("dice", logits, target);
  const std::int64_t items = target.size(0);
  const std::int64_t classes = rows.size(-1);
  const std::int64_t first = options.background ? 0 : 1;
  FOVEA_CHECK(classes > first, ShapeError,
              fmt::format("dice: logits are {}; expected more than one class where the background "
                          "does not count",
                          to_string(logits.shape())));
  const std::vector<double>& weights = options.class_weights;
  FOVEA_CHECK(
      weights.empty() || std::ssize(weights) == classes - first, ShapeError,
      fmt::format("dice: {} class_weights for {} classes", weights.size(), classes - first));
  check_labels("dice", target, classes, options.ignore_index);
  const Shape pixels{items, target.shape().part(1, target.rank()).numel(), 1};
  const Tensor label = reshape(target, pixels);
  const Device& device = target.device();
  const auto whole = [&](double value) { return full({}, value, DType::kInt64, device); };
  const std::vector<int> over = options.batch ? std::vector<int>{0, 1, 2} : std::vector<int>{1, 2};
  // A pixel that does not count has zeros as labels and as probabilities.
  const Tensor counts =
      cast(not_equal(label, whole(static_cast<double>(options.ignore_index))), logits.dtype());
  const Tensor given = options.sigmoid ? sigmoid(rows) : softmax(rows);
  const Tensor p = mul(reshape(given, {items, pixels[1], classes}), counts);
  Tensor total;
  for (std::int64_t k = first; k < classes; ++k) {
    const Tensor t = cast(equal(label, whole(static_cast<double>(k))), logits.dtype());
    const Tensor of_class = slice(p, 2, k, 1);
    const Tensor size = options.squared_pred ? square(of_class) : of_class;
    const Tensor both = affine(sum(mul(of_class, t), over), 2, options.smooth);
    const Tensor all = add(add(sum(size, over), sum(t, over)), options.smooth);
    Tensor loss = mean(affine(div(both, all), -1, 1));
    if (!weights.empty()) loss = mul(loss, weights[static_cast<std::size_t>(k - first)]);
    total = total.defined() ? add(total, loss) : loss;
  }
  return mul(total, 1.0 / static_cast<double>(classes - first));
}

Tensor over_maps(const std::vector<Tensor>& maps, const std::vector<double>& weights,
                 const std::vector<std::int64_t>& size,
                 const std::function<Tensor(const Tensor& map)>& loss) {
  FOVEA_CHECK(!maps.empty() && (weights.empty() || weights.size() == maps.size()), ShapeError,
              fmt::format("deep supervision: {} weights for {} maps; expected one each",
                          weights.size(), maps.size()));
  Tensor total;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Shape& shape = maps[i].shape();
    const bool fits = shape.part(2, shape.rank()).to_vector() == size;
    Tensor part = loss(fits ? maps[i] : resize(maps[i], size, Interpolation::kLinear));
    if (!weights.empty()) part = mul(part, weights[i]);
    total = total.defined() ? add(total, part) : part;
  }
  return total;
}

}  // namespace fovea::ops
