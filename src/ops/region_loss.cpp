#include "ops/region_loss.h"

#include <fmt/format.h>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/labels.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

// Sums of every class, (1, k) each, and the target as 0 and 1 (pixels, k).
struct Regions {
  Tensor both, squares, labels;  // I, z, y
  Tensor target;
};

Tensor rows_of(const Tensor& logits) {
  const std::int64_t k = logits.size(1);
  const Tensor flat = reshape(logits, {logits.size(0), k, -1});
  return reshape(transpose(flat, 1, 2), {flat.size(0) * flat.size(2), k});
}

Tensor integers(double value, const Device& device) {
  return full({}, value, DType::kInt64, device);
}

Regions regions_of(const char* name, const Tensor& logits, const Tensor& target,
                   const RegionLossOptions& o) {
  check_label_map(name, logits, target);
  const std::int64_t k = logits.size(1);
  FOVEA_CHECK(o.class_weights.empty() || std::ssize(o.class_weights) == k, ShapeError,
              fmt::format("{}: {} class_weights for {} classes", name, o.class_weights.size(), k));
  check_labels(name, target, k, o.ignore_index);
  const Tensor rows = rows_of(logits);
  const Tensor label = reshape(target, {rows.size(0), 1});
  const Device& device = target.device();
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < k; ++i) numbers[static_cast<std::size_t>(i)] = i;
  const Tensor t = cast(equal(label, Tensor::from(numbers, {1, k}, device)), logits.dtype());
  const Tensor counts =
      cast(not_equal(label, integers(static_cast<double>(o.ignore_index), device)), logits.dtype());
  const Tensor p = mul(o.sigmoid ? sigmoid(rows) : softmax(rows), counts);
  return {sum(mul(p, t), {0}, true), sum(square(p), {0}, true), sum(t, {0}, true), t};
}

// The mean over classes of `terms` (1, k) with their weights.
Tensor over_classes(const Tensor& terms, const RegionLossOptions& o) {
  if (o.class_weights.empty()) return mean(terms);
  const Tensor weights = Tensor::from(o.class_weights, terms.shape(), terms.device());
  return mean(mul(terms, cast(weights, terms.dtype())));
}

// 1 where the four neighbours are of the pixel's own class: (pixels, 1).
Tensor interior(const Tensor& target, DType dtype) {
  Tensor inside;
  for (const int axis : {1, 2}) {
    const std::int64_t n = target.size(axis);
    const Tensor same =
        cast(equal(slice(target, axis, 1, n - 1), slice(target, axis, 0, n - 1)), dtype);
    for (const bool before : {true, false}) {
      std::vector<std::pair<std::int64_t, std::int64_t>> edge(3, {0, 0});
      edge[static_cast<std::size_t>(axis)] = {before ? 1 : 0, before ? 0 : 1};
      const Tensor all = pad(same, edge);
      inside = inside.defined() ? mul(inside, all) : all;
    }
  }
  return reshape(inside, {target.numel(), 1});
}

}  // namespace

Tensor boundary_dou(const Tensor& logits, const Tensor& target, const RegionLossOptions& o) {
  FOVEA_CHECK(logits.rank() == 4, ShapeError,
              fmt::format("boundary_dou: logits are {}; expected (b, classes, h, w)",
                          to_string(logits.shape())));
  const Regions of = regions_of("boundary_dou", logits, target, o);
  if (target.numel() == 0) return sum(logits);  // 0, as of every loss; not 1 as of missing classes
  Tensor by_both;                               // 1 + alpha
  {
    const autograd::NoGrad no_grad;
    const Tensor outline = affine(interior(target, logits.dtype()), -1, 1);
    const Tensor boundary = sum(mul(of.target, outline), {0}, true);
    const Tensor share = div(add(boundary, o.smooth), add(of.labels, o.smooth));
    by_both = affine(clamp(affine(share, -2, 1), -1, 0.8), 1, 1);
  }
  const Tensor all = add(add(of.squares, of.labels), o.smooth);
  return over_classes(div(sub(all, mul(of.both, 2)), sub(all, mul(by_both, of.both))), o);
}

}  // namespace fovea::ops
