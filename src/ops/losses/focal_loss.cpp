#include "ops/losses/focal_loss.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/labels.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::ops {
namespace {

constexpr double kLeastRowWeight = 1e-30;  // of all rows together
constexpr double kLeastError = 1e-30;      // the derivative of error^gamma is finite from here on

// How much a place counts whose truth has the probability 1 - error.
Tensor focus(const Tensor& error, double gamma) {
  const Tensor least = full({}, kLeastError, error.dtype(), error.device());
  return pow(maximum(error, least), gamma);
}

// Of each class (..., classes): (1 - p)^gamma log p, times its weight.
Tensor weighed_logs(const Tensor& logits, const FocalOptions& options) {
  const std::int64_t classes = logits.size(-1);
  const std::vector<double>& weights = options.class_weights;
  FOVEA_CHECK(weights.empty() || std::ssize(weights) == classes, ShapeError,
              fmt::format("focal_loss: {} class_weights for {} classes", weights.size(), classes));
  Tensor log_p = log_softmax(logits);
  if (options.gamma > 0) log_p = mul(focus(neg(expm1(log_p)), options.gamma), log_p);
  if (weights.empty()) return log_p;
  return mul(log_p, from_doubles(weights, {classes}, logits.dtype(), logits.device()));
}

}  // namespace

Tensor focal_loss(const Tensor& logits, const Tensor& target, const FocalOptions& options) {
  FOVEA_CHECK(
      logits.rank() >= 1 && logits.shape().part(0, logits.rank() - 1) == target.shape() &&
          target.dtype() == DType::kInt64,
      ShapeError,
      fmt::format("focal_loss: logits are {}, targets {} {}; expected logits (targets..., classes) "
                  "and int64 class indices",
                  to_string(logits.shape()), name_of(target.dtype()), to_string(target.shape())));
  const std::int64_t classes = logits.size(-1), rows = target.numel();
  const Device& device = logits.device();
  check_labels("focal_loss", target, classes, options.ignore_index);
  std::vector<std::int64_t> indices;
  for (std::int64_t k = 0; k < classes; ++k) indices.push_back(k);
  // Rows that do not count: zeros.
  const Tensor own =
      cast(equal(reshape(target, {rows, 1}), Tensor::from(indices, {1, classes}, device)),
           logits.dtype());
  const Tensor logs = weighed_logs(reshape(logits, {rows, classes}), options);
  const Tensor losses = neg(sum(mul(own, logs), {1}));
  if (options.reduction != Reduction::kMean)
    return reduced(reshape(losses, target.shape()), options.reduction);
  const std::vector<double>& given = options.class_weights;
  const Tensor weights = from_doubles(
      given.empty() ? std::vector<double>(static_cast<std::size_t>(classes), 1) : given, {classes},
      logits.dtype(), device);
  // No row counts: 0, as in cross_entropy().
  const Tensor least = full({}, kLeastRowWeight, logits.dtype(), device);
  return div(sum(losses), maximum(sum(mul(own, weights)), least));
}

Tensor soft_focal_loss(const Tensor& logits, const Tensor& target, const FocalOptions& options) {
  FOVEA_CHECK(
      logits.rank() >= 1 && logits.shape() == target.shape() && is_floating(target.dtype()),
      ShapeError,
      fmt::format("soft_focal_loss: logits are {}, targets {} {}; expected probabilities of the "
                  "same shape",
                  to_string(logits.shape()), name_of(target.dtype()), to_string(target.shape())));
  return reduced(neg(sum(mul(target, weighed_logs(logits, options)), {-1})), options.reduction);
}

Tensor pixel_focal_loss(const Tensor& logits, const Tensor& target, const FocalOptions& options) {
  return focal_loss(classes_last("focal_loss", logits, target), target, options);
}

Tensor binary_focal_loss(const Tensor& logits, const Tensor& target, double alpha, double gamma,
                         Reduction reduction) {
  Tensor loss = bce_with_logits(logits, target, Reduction::kNone);
  const Tensor p = sigmoid(logits);
  // 1 - q = p + t - 2 p t
  if (gamma > 0) loss = mul(loss, focus(add(p, mul(target, affine(p, -2, 1))), gamma));
  if (alpha >= 0) loss = mul(loss, affine(target, 2 * alpha - 1, 1 - alpha));
  return reduced(loss, reduction);
}

}  // namespace fovea::ops
