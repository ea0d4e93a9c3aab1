#include "ops/losses/volume_loss.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/losses/labels.h"
#include "ops/losses/region_sums.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

// Logits with the classes last, and the labels in the same order: (b, n, k) and (b, n).
struct LabelRows {
  Tensor logits, labels;
  std::int64_t ignore;

  LabelRows(const char* name, const Tensor& maps, const Tensor& target, std::int64_t ignore_index)
      : ignore(ignore_index) {
    check_label_map(name, maps, target);
    const std::int64_t b = maps.size(0), k = maps.size(1);
    const std::int64_t n = maps.shape().part(2, maps.rank()).numel();
    check_labels(name, target, k, ignore);
    logits = transpose(reshape(maps, {b, k, n}), 1, 2);
    labels = reshape(target, {b, n});
  }

  /// 1 for the class of a place, else 0: (b, n, k). An ignored place has none.
  Tensor one_hot() const {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(logits.size(2)));
    std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
    const Tensor classes = Tensor::from(numbers, {1, 1, logits.size(2)}, logits.device());
    return cast(equal(reshape(labels, {labels.size(0), labels.size(1), 1}), classes),
                logits.dtype());
  }

  /// 1 for a place that counts, else 0: (b, n, 1).
  Tensor counts() const {
    const Tensor none = full({}, static_cast<double>(ignore), DType::kInt64, logits.device());
    return cast(not_equal(reshape(labels, {labels.size(0), labels.size(1), 1}), none),
                logits.dtype());
  }
};

// Of every item and class, (b, k).
struct Overlaps {
  Tensor both, predicted, truth;

  Overlaps(const Tensor& p, const Tensor& y)
      : both(sum(mul(p, y), {1})), predicted(sum(p, {1})), truth(sum(y, {1})) {}
};

// The mean over the places that count, 0 without any.
Tensor cross_entropy_of(const RegionSums& of) {
  constexpr double kMost = 1e38;
  return div(sum(of.surprise), clamp(sum(of.labels), 1, kMost));
}

}  // namespace

Tensor nnunet_loss(const Tensor& logits, const Tensor& target, const NnUnetOptions& o) {
  check_label_map("nnunet", logits, target);
  const std::int64_t items = logits.size(0), k = logits.size(1);
  const std::int64_t first = o.background ? 0 : 1;
  FOVEA_CHECK(
      k > first, ShapeError,
      fmt::format("nnunet: logits are {}; expected more than one class where the background "
                  "does not count",
                  to_string(logits.shape())));
  check_labels("nnunet", target, k, o.ignore_index);
  const std::int64_t n = logits.shape().part(2, logits.rank()).numel();
  const RegionSums of = region_sums({.ignore_index = o.ignore_index,
                                     .logits = reshape(logits, Shape{items, k, n}),
                                     .target = target.alias({items, n})});
  const Tensor ce = mul(cross_entropy_of(of), o.ce_weight);
  // Of an empty batch there is no Dice, though that of sums over nothing would be about 1.
  if (o.dice_weight == 0 || items == 0) return ce;
  constexpr double kTiny = 1e-8;  // of nnU-Net, beside the smoothing
  Tensor both = of.both;
  Tensor all = add(of.sums, of.labels);  // 2 tp + fp + fn
  if (o.batch_dice) {
    both = sum(both, {0}, true);
    all = sum(all, {0}, true);
  }
  const Tensor dice = div(affine(both, 2, o.smooth), add(all, o.smooth + kTiny));
  return sub(ce, mul(mean(slice(dice, 1, first, k - first)), o.dice_weight));
}

Tensor paper_eq8(const Tensor& logits, const Tensor& target, const PaperEq8Options& o) {
  const LabelRows rows("paper_eq8", logits, target, o.ignore_index);
  const Tensor counts = rows.counts();
  const Tensor p = mul(softmax(rows.logits), counts);
  const Tensor y = rows.one_hot();
  Tensor ce;  // of the batch, whose items are of one size
  if (o.bce) {
    constexpr double kMost = 1 - 1e-7;
    const Tensor others = log(affine(clamp(p, 0, kMost), -1, 1));
    const Tensor own = sum(mul(log_softmax(rows.logits), y), {2});
    const Tensor rest = sum(mul(others, sub(counts, y)), {2});
    constexpr double kLeast = 1e-30;  // of the share that counts: nothing else is 0 then
    ce = div(mul(mean(add(own, rest)), -1.0 / static_cast<double>(logits.size(1))),
             clamp(mean(counts), kLeast, 1));
  } else {
    ce = cross_entropy(rows.logits, rows.labels, {.ignore_index = o.ignore_index});
  }
  const Overlaps of(p, y);
  const Tensor dice = div(mul(of.both, 2), add(add(of.predicted, of.truth), o.smooth));
  return sub(mul(ce, 0.5), mean(dice));
}

Tensor nearest_labels(const Tensor& labels, const std::vector<std::int64_t>& size) {
  FOVEA_CHECK(labels.rank() == static_cast<int>(size.size()) + 1, ShapeError,
              fmt::format("nearest_labels: labels are {}; expected (b, {} axes)",
                          to_string(labels.shape()), size.size()));
  Tensor y = labels;
  for (int axis = 1; axis < labels.rank(); ++axis) {
    const std::int64_t in = y.size(axis);
    const std::int64_t out = size[static_cast<std::size_t>(axis) - 1];
    if (in == out) continue;
    Shape along;  // 1 but for the axis
    for (int i = 0; i < y.rank(); ++i) along.push_back(i == axis ? out : 1);
    std::vector<std::int64_t> places(static_cast<std::size_t>(out));
    for (std::int64_t i = 0; i < out; ++i)
      places[static_cast<std::size_t>(i)] = (2 * i + 1) * in / (2 * out);
    Shape shape = y.shape();
    shape[axis] = out;
    y = gather(y, axis, expand(Tensor::from(places, along, y.device()), shape));
  }
  return y;
}

}  // namespace fovea::ops
