#include "ops/losses/region_loss.h"

#include <fmt/format.h>

#include "backend/backend.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/losses/labels.h"
#include "ops/losses/region_sums.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::ops {
namespace {

// Sums of every class, (1, k) each, in the compute type.
struct Regions {
  Tensor both, squares;     // I, z
  Tensor labels, boundary;  // y, C
};

Regions regions_of(const char* name, const Tensor& logits, const Tensor& target,
                   const RegionLossOptions& o) {
  check_label_map(name, logits, target);
  const std::int64_t k = logits.size(1);
  FOVEA_CHECK(o.class_weights.empty() || std::ssize(o.class_weights) == k, ShapeError,
              fmt::format("{}: {} class_weights for {} classes", name, o.class_weights.size(), k));
  check_labels(name, target, k, o.ignore_index);
  const std::int64_t items = logits.size(0);
  const std::int64_t pixels = logits.shape().part(2, logits.rank()).numel();
  const RegionSums of_items = region_sums({.sigmoid = o.sigmoid,
                                           .ignore_index = o.ignore_index,
                                           .logits = reshape(logits, Shape{items, k, pixels}),
                                           .target = target.alias({items, pixels})});
  const Tensor both = sum(of_items.both, {0}, true);
  const Tensor counts = Tensor::empty({2, k}, backend(target).widest(), target.device());
  backend(target).region_areas({.target = target.detach(),
                                .area = counts.rows(0, 1).alias({k}),
                                .boundary = counts.rows(1, 2).alias({k})});
  const Tensor in_type = cast(counts, both.dtype());
  return {both, sum(of_items.squares, {0}, true), in_type.rows(0, 1), in_type.rows(1, 2)};
}

// The mean over classes of `terms` (1, k) with their weights.
Tensor over_classes(const Tensor& terms, const RegionLossOptions& o) {
  if (o.class_weights.empty()) return mean(terms);
  return mean(
      mul(terms, from_doubles(o.class_weights, terms.shape(), terms.dtype(), terms.device())));
}

}  // namespace

Tensor boundary_dou(const Tensor& logits, const Tensor& target, const RegionLossOptions& o) {
  FOVEA_CHECK(logits.rank() == 4, ShapeError,
              fmt::format("boundary_dou: logits are {}; expected (b, classes, h, w)",
                          to_string(logits.shape())));
  const Regions of = regions_of("boundary_dou", logits, target, o);
  // 0, as for every loss of an empty batch; not 1, as for missing classes.
  if (target.numel() == 0) return sum(logits);
  const Tensor share = div(add(of.boundary, o.smooth), add(of.labels, o.smooth));
  const Tensor by_both = affine(clamp(affine(share, -2, 1), -1, 0.8), 1, 1);  // 1 + alpha
  const Tensor all = add(add(of.squares, of.labels), o.smooth);
  return over_classes(div(sub(all, mul(of.both, 2)), sub(all, mul(by_both, of.both))), o);
}

}  // namespace fovea::ops
