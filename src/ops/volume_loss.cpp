#include "ops/volume_loss.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/labels.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

// Logits with the classes last, and the labels in the same order: (b, n, k) and (b, n).
struct LabelRows {
  Tensor logits, labels;

  LabelRows(const char* name, const Tensor& maps, const Tensor& target, std::int64_t ignore_index) {
    check_label_map(name, maps, target);
    const std::int64_t b = maps.size(0), k = maps.size(1);
    const std::int64_t n = maps.shape().part(2, maps.rank()).numel();
    check_labels(name, target, k, ignore_index);
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
  /// x without the places that are ignored.
  Tensor counted(const Tensor& x, std::int64_t ignore_index) const {
    const Tensor ignored =
        full({}, static_cast<double>(ignore_index), DType::kInt64, logits.device());
    const Tensor counts = cast(not_equal(labels, ignored), logits.dtype());
    return mul(x, reshape(counts, {labels.size(0), labels.size(1), 1}));
  }
};

// Of every item and class, (b, k).
struct Overlaps {
  Tensor both, predicted, truth;

  Overlaps(const Tensor& p, const Tensor& y)
      : both(sum(mul(p, y), {1})), predicted(sum(p, {1})), truth(sum(y, {1})) {}
};

}  // namespace

Tensor nnunet_loss(const Tensor& logits, const Tensor& target, const NnUnetOptions& o) {
  const LabelRows rows("nnunet", logits, target, o.ignore_index);
  const std::int64_t k = logits.size(1);
  const std::int64_t first = o.background ? 0 : 1;
  FOVEA_CHECK(
      k > first, ShapeError,
      fmt::format("nnunet: logits are {}; expected more than one class where the background "
                  "does not count",
                  to_string(logits.shape())));
  const Tensor ce = cross_entropy(rows.logits, rows.labels, {.ignore_index = o.ignore_index});
  // Of an empty batch there is no Dice, though that of sums over nothing would be about 1.
  if (o.dice_weight == 0 || logits.size(0) == 0) return mul(ce, o.ce_weight);
  constexpr double kTiny = 1e-8;  // of nnU-Net, beside the smoothing
  const Overlaps of(rows.counted(softmax(rows.logits), o.ignore_index), rows.one_hot());
  Tensor both = of.both;
  Tensor all = add(of.predicted, of.truth);  // 2 tp + fp + fn
  if (o.batch_dice) {
    both = sum(both, {0}, true);
    all = sum(all, {0}, true);
  }
  const Tensor dice = div(affine(both, 2, o.smooth), add(all, o.smooth + kTiny));
  const Tensor of_classes = mean(slice(dice, 1, first, k - first));
  return sub(mul(ce, o.ce_weight), mul(of_classes, o.dice_weight));
}

Tensor paper_eq8(const Tensor& logits, const Tensor& target, const PaperEq8Options& o) {
  const LabelRows rows("paper_eq8", logits, target, CrossEntropyOptions{}.ignore_index);
  const Tensor p = softmax(rows.logits);
  const Tensor y = rows.one_hot();
  Tensor ce;  // of the batch, whose items are of one size
  if (o.bce) {
    constexpr double kMost = 1 - 1e-7;
    const Tensor others = log(affine(clamp(p, 0, kMost), -1, 1));
    const Tensor own = sum(mul(log_softmax(rows.logits), y), {2});
    const Tensor rest = sum(mul(others, affine(y, -1, 1)), {2});
    ce = mul(mean(add(own, rest)), -1.0 / static_cast<double>(logits.size(1)));
  } else {
    ce = cross_entropy(rows.logits, rows.labels);
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
