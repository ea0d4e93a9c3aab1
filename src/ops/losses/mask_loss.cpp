#include "ops/losses/mask_loss.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::ops {
namespace {

constexpr double kMostPlaces = 1e38;  // no bound

// Maps and masks as (b, k, n), in the type of the logits. Places that do not count are 0 in all.
struct MaskRows {
  Tensor logits, p, t, counts;

  MaskRows(const char* name, const Tensor& maps, const Tensor& masks, std::int64_t ignore) {
    FOVEA_CHECK(
        maps.rank() >= 3 && maps.shape() == masks.shape() && masks.dtype() == DType::kInt64,
        ShapeError,
        fmt::format("{}: logits are {}, masks {} {}; expected (b, k, spatial...), and int64 "
                    "of that shape",
                    name, to_string(maps.shape()), name_of(masks.dtype()),
                    to_string(masks.shape())));
    const Shape rows{maps.size(0), maps.size(1), maps.shape().part(2, maps.rank()).numel()};
    const auto whole = [&](std::int64_t value) {
      return full({}, static_cast<double>(value), DType::kInt64, masks.device());
    };
    const Tensor flat = masks.alias(rows);
    logits = reshape(maps, rows);
    counts = cast(not_equal(flat, whole(ignore)), maps.dtype());
    t = cast(equal(flat, whole(1)), maps.dtype());
    p = mul(sigmoid(logits), counts);
  }

  /// One number a map in place of (b, k).
  Tensor weights(const std::vector<double>& given) const {
    return from_doubles(given, {1, std::ssize(given)}, logits.dtype(), logits.device());
  }
};

void check_weights(const char* name, const std::vector<double>& weights, const Tensor& logits) {
  FOVEA_CHECK(
      weights.empty() || std::ssize(weights) == logits.size(1), ShapeError,
      fmt::format("{}: {} class_weights for {} maps", name, weights.size(), logits.size(1)));
}

// The terms of a Dice of every map, (b, k), or of the whole batch, (1, k).
struct MaskOverlaps {
  Tensor both, predicted, truth;

  MaskOverlaps(const MaskRows& rows, bool batch, bool squared) {
    const auto over = [&](const Tensor& x) {
      const Tensor items = sum(x, {2});
      return batch ? sum(items, {0}, true) : items;
    };
    both = over(mul(rows.p, rows.t));
    predicted = over(squared ? square(rows.p) : rows.p);
    truth = over(rows.t);
  }
};

Tensor cross_entropy_of(const MaskRows& rows, const std::vector<double>& weights) {
  const Tensor each = mul(bce_with_logits(rows.logits, rows.t, Reduction::kNone), rows.counts);
  const auto of_map = [](const Tensor& x) { return sum(sum(x, {2}), {0}, true); };
  const Tensor terms = div(of_map(each), clamp(of_map(rows.counts), 1, kMostPlaces));
  return mean(weights.empty() ? terms : mul(terms, rows.weights(weights)));
}

}  // namespace

Tensor region_masks(const Tensor& labels, const std::vector<std::vector<std::int64_t>>& regions,
                    std::int64_t ignore_index) {
  FOVEA_CHECK(labels.rank() >= 1 && labels.dtype() == DType::kInt64 && !regions.empty(), ShapeError,
              fmt::format("region_masks: labels are {} {}, of {} regions; expected int64 (b, "
                          "spatial...) and at least one region",
                          name_of(labels.dtype()), to_string(labels.shape()), regions.size()));
  const auto whole = [&](std::int64_t value) {
    return full({}, static_cast<double>(value), DType::kInt64, labels.device());
  };
  Shape one = labels.shape().part(0, 1);
  one.push_back(1);
  for (int axis = 1; axis < labels.rank(); ++axis) one.push_back(labels.size(axis));
  const Tensor flat = labels.alias(one);
  const Tensor ignored = equal(flat, whole(ignore_index));
  std::vector<Tensor> masks;
  for (const std::vector<std::int64_t>& region : regions) {
    Tensor mask = where(ignored, whole(ignore_index), whole(0));
    for (const std::int64_t label : region) mask = where(equal(flat, whole(label)), whole(1), mask);
    masks.push_back(mask);
  }
  return concat(masks, 1);
}

Tensor mask_dice(const Tensor& logits, const Tensor& masks, const LabelDiceOptions& o) {
  const MaskRows rows("dice", logits, masks, o.ignore_index);
  check_weights("dice", o.class_weights, logits);
  const MaskOverlaps of(rows, o.batch, o.squared_pred);
  const Tensor both = affine(of.both, 2, o.smooth);
  const Tensor all = add(add(of.predicted, of.truth), o.smooth);
  const Tensor terms = affine(div(both, all), -1, 1);
  return mean(o.class_weights.empty() ? terms : mul(terms, rows.weights(o.class_weights)));
}

Tensor mask_cross_entropy(const Tensor& logits, const Tensor& masks,
                          const std::vector<double>& weights, std::int64_t ignore_index) {
  const MaskRows rows("cross_entropy", logits, masks, ignore_index);
  check_weights("cross_entropy", weights, logits);
  return cross_entropy_of(rows, weights);
}

Tensor nnunet_mask_loss(const Tensor& logits, const Tensor& masks, const NnUnetOptions& o) {
  const MaskRows rows("nnunet", logits, masks, o.ignore_index);
  const Tensor ce = mul(cross_entropy_of(rows, {}), o.ce_weight);
  // As of nnunet_loss().
  if (o.dice_weight == 0 || logits.size(0) == 0) return ce;
  const MaskOverlaps of(rows, o.batch_dice, false);
  constexpr double kTiny = 1e-8;  // of nnU-Net, beside the smoothing
  const Tensor dice =
      div(affine(of.both, 2, o.smooth), add(add(of.predicted, of.truth), o.smooth + kTiny));
  return sub(ce, mul(mean(dice), o.dice_weight));
}

}  // namespace fovea::ops
