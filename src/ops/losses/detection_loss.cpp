#include "ops/losses/detection_loss.h"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

void check_one_shape(const char* op, const Tensor& a, const Tensor& b) {
  FOVEA_CHECK(
      a.shape() == b.shape() && a.dtype() == b.dtype(), ShapeError,
      fmt::format("{}: {} {} and {} {}; expected one shape and dtype", op, name_of(a.dtype()),
                  to_string(a.shape()), name_of(b.dtype()), to_string(b.shape())));
}

// Columns [first, first + 2) of boxes.
Tensor corners(const Tensor& boxes, std::int64_t first) { return slice(boxes, 1, first, 2); }

// Width times height of (n, 2): (n, 1).
Tensor area_of(const Tensor& size) { return mul(slice(size, 1, 0, 1), slice(size, 1, 1, 1)); }

Tensor at_least(const Tensor& x, double low) {
  return clamp(x, low, std::numeric_limits<double>::infinity());
}

}  // namespace

Tensor sigmoid_focal_loss(const Tensor& logits, const Tensor& target, double alpha, double gamma,
                          Reduction reduction) {
  FOVEA_CHECK(
      logits.rank() == 2 && target.shape() == Shape{logits.size(0)} &&
          target.dtype() == DType::kInt64,
      ShapeError,
      fmt::format("sigmoid_focal_loss: logits are {}, target {} {}; expected (n, k) and "
                  "int64 (n)",
                  to_string(logits.shape()), name_of(target.dtype()), to_string(target.shape())));
  const Device& device = logits.device();
  const std::int64_t n = logits.size(0), k = logits.size(1);
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < k; ++i) classes.push_back(i);
  const Tensor label = reshape(target.detach(), {n, 1});
  const Tensor own = cast(equal(label, Tensor::from(classes, {1, k}, device)), logits.dtype());
  const Tensor counts = cast(not_equal(label, full({}, -1, DType::kInt64, device)), logits.dtype());
  const Tensor weight = mul(affine(own, 2 * alpha - 1, 1 - alpha), counts);
  // The logit of being wrong: -log q = softplus of it, 1 - q its sigmoid.
  const Tensor wrong = mul(logits, affine(own, -2, 1));
  const Tensor loss = mul(mul(pow(sigmoid(wrong), gamma), softplus(wrong)), weight);
  return reduced(loss, reduction);
}

Tensor smooth_l1(const Tensor& x, const Tensor& target, double beta, Reduction reduction) {
  check_one_shape("smooth_l1", x, target);
  FOVEA_CHECK(beta >= 0, ShapeError,
              fmt::format("smooth_l1: beta is {}; expected 0 or more", beta));
  const Tensor distance = abs(sub(x, target));
  if (beta == 0) return reduced(distance, reduction);
  // With c = min(d, beta) both parts are c^2 / (2 beta) + d - c.
  const Tensor near = clamp(distance, 0, beta);
  return reduced(add(mul(square(near), 0.5 / beta), sub(distance, near)), reduction);
}

Tensor giou_loss(const Tensor& a, const Tensor& b, double eps) {
  check_one_shape("giou_loss", a, b);
  FOVEA_CHECK(a.rank() == 2 && a.size(1) == 4, ShapeError,
              fmt::format("giou_loss: boxes are {}; expected (n, 4)", to_string(a.shape())));
  const Tensor first_a = corners(a, 0), last_a = corners(a, 2);
  const Tensor first_b = corners(b, 0), last_b = corners(b, 2);
  const Tensor both = area_of(at_least(sub(minimum(last_a, last_b), maximum(first_a, first_b)), 0));
  const Tensor either =
      at_least(sub(add(area_of(sub(last_a, first_a)), area_of(sub(last_b, first_b))), both), eps);
  const Tensor hull =
      at_least(area_of(at_least(sub(maximum(last_a, last_b), minimum(first_a, first_b)), 0)), eps);
  const Tensor giou = sub(div(both, either), div(sub(hull, either), hull));
  return reshape(affine(giou, -1, 1), {a.size(0)});
}

Tensor mask_bce(const Tensor& logits, const Tensor& labels, const Tensor& targets) {
  bool fits = logits.rank() == 4;
  if (fits) {
    const Shape masks{logits.size(0), logits.size(2), logits.size(3)};
    fits = targets.shape() == masks && labels.shape() == Shape{masks[0]};
  }
  FOVEA_CHECK(
      fits && labels.dtype() == DType::kInt64, ShapeError,
      fmt::format("mask_bce: logits are {}, labels {} {}, targets {}; expected (n, k, s, s), "
                  "int64 (n) and (n, s, s)",
                  to_string(logits.shape()), name_of(labels.dtype()), to_string(labels.shape()),
                  to_string(targets.shape())));
  const Shape own{logits.size(0), 1, logits.size(2), logits.size(3)};
  const Tensor index = expand(reshape(labels, {labels.numel(), 1, 1, 1}), own);
  return bce_with_logits(gather(logits, 1, index), reshape(targets, own));
}

}  // namespace fovea::ops
