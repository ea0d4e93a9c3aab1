#include "ops/losses/loss.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/labels.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::ops {
namespace {

constexpr double kLeastWeight = 1e-30;  // of all rows together

using autograd::Gradients;
using autograd::Op;

// How many rows count, as a scalar on their device; at least 1.
Tensor counted_rows(const Tensor& target, std::int64_t ignore_index, DType dtype) {
  const Device& device = target.device();
  const Tensor ignored = full({}, static_cast<double>(ignore_index), DType::kInt64, device);
  // (float32 would stop counting at 2^24.)
  const DType wide = backend(target).widest();
  const Tensor counts = cast(not_equal(target, ignored), wide);
  return cast(maximum(sum(counts), ones({}, wide, device)), dtype);
}

Tensor row_losses(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  Op op("cross_entropy", {logits, target});
  const double smoothing = options.label_smoothing;
  const std::int64_t ignore = options.ignore_index;
  Tensor loss = Tensor::empty(target.shape(), logits.dtype(), logits.device());
  const Tensor lse = Tensor::empty(target.shape(), logits.dtype(), logits.device());
  backend(logits).cross_entropy({.smoothing = smoothing,
                                 .ignore_index = ignore,
                                 .logits = logits,
                                 .target = target,
                                 .loss = loss,
                                 .lse = lse});
  return op.output(loss, [=, logits = op.keep(logits), target = op.keep(target)](
                             const Tensor& dloss, Gradients& in) {
    Tensor dlogits = in.empty(0);
    backend(logits).cross_entropy_backward({.smoothing = smoothing,
                                            .ignore_index = ignore,
                                            .logits = logits,
                                            .target = target,
                                            .lse = lse,
                                            .dloss = dloss,
                                            .dlogits = dlogits});
    in.add(0, std::move(dlogits));
  });
}

void check_smoothing(const char* op, const CrossEntropyOptions& options) {
  FOVEA_CHECK(
      options.label_smoothing >= 0 && options.label_smoothing <= 1, ShapeError,
      fmt::format("{}: label_smoothing is {}; expected 0 to 1", op, options.label_smoothing));
}

// (1, classes), in the type of the logits.
Tensor weight_row(const char* op, const Tensor& logits, const CrossEntropyOptions& options) {
  const std::int64_t classes = logits.size(-1);
  FOVEA_CHECK(std::ssize(options.class_weights) == classes, ShapeError,
              fmt::format("{}: {} class_weights for {} classes", op, options.class_weights.size(),
                          classes));
  return from_doubles(options.class_weights, {1, classes}, logits.dtype(), logits.device());
}

// Composed: the fused kernel knows no weights.
Tensor weighted_cross_entropy(const Tensor& logits, const Tensor& target,
                              const CrossEntropyOptions& options) {
  const std::int64_t classes = logits.size(-1), rows = target.numel();
  const Device& device = logits.device();
  const Tensor weights = weight_row("cross_entropy", logits, options);
  const Tensor labels = reshape(target, {rows, 1});
  const auto whole = [&](double value) { return full({}, value, DType::kInt64, device); };
  std::vector<Tensor> columns;
  for (std::int64_t k = 0; k < classes; ++k)
    columns.push_back(cast(equal(labels, whole(static_cast<double>(k))), logits.dtype()));
  const Tensor one_hot = concat(columns, 1);  // rows that do not count: zeros
  const Tensor counts =
      cast(not_equal(labels, whole(static_cast<double>(options.ignore_index))), logits.dtype());
  const Tensor shares = mul(smoothed_target(one_hot, options.label_smoothing), counts);
  const Tensor log_p = log_softmax(reshape(logits, {rows, classes}));
  const Tensor losses = reshape(neg(sum(mul(mul(shares, weights), log_p), {1})), target.shape());
  if (options.reduction != Reduction::kMean || options.count_ignored)
    return reduced(losses, options.reduction);
  // No row counts: 0, as without weights.
  const Tensor total = sum(mul(one_hot, weights));
  const Tensor least = full({}, kLeastWeight, total.dtype(), device);
  return div(sum(losses), maximum(total, least));
}

}  // namespace

Tensor reduced(const Tensor& loss, Reduction reduction) {
  if (reduction == Reduction::kMean) return mean(loss);
  if (reduction == Reduction::kSum) return sum(loss);
  return loss;
}

void check_label_map(const char* op, const Tensor& logits, const Tensor& target) {
  bool fits = logits.rank() >= 3 && target.rank() + 1 == logits.rank();
  for (int axis = 0; fits && axis < target.rank(); ++axis)
    fits = target.size(axis) == logits.size(axis == 0 ? 0 : axis + 1);
  FOVEA_CHECK(fits && target.dtype() == DType::kInt64, ShapeError,
              fmt::format("{}: logits are {}, targets {} {}; expected logits (b, classes, ...) and "
                          "int64 labels (b, ...)",
                          op, to_string(logits.shape()), name_of(target.dtype()),
                          to_string(target.shape())));
}

void check_labels(const char* op, const Tensor& target, std::int64_t classes,
                  std::int64_t ignore_index) {
  if (!target.device().is_host()) return;
  for (const std::int64_t label : target.values<std::int64_t>()) {
    FOVEA_CHECK(label == ignore_index || (label >= 0 && label < classes), ShapeError,
                fmt::format("{}: target {} is outside [0, {})", op, label, classes));
  }
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options) {
  FOVEA_CHECK(target.dtype() == DType::kInt64, ShapeError,
              fmt::format("cross_entropy: targets are {}; expected int64 class indices",
                          name_of(target.dtype())));
  FOVEA_CHECK(
      logits.rank() >= 1 && logits.shape().part(0, logits.rank() - 1) == target.shape(), ShapeError,
      fmt::format("cross_entropy: logits are {}, targets {}; expected logits (targets..., classes)",
                  to_string(logits.shape()), to_string(target.shape())));
  check_smoothing("cross_entropy", options);
  check_labels("cross_entropy", target, logits.size(-1), options.ignore_index);
  if (!options.class_weights.empty()) return weighted_cross_entropy(logits, target, options);
  const Tensor loss = row_losses(logits, target, options);
  if (options.reduction != Reduction::kMean || (options.count_ignored && loss.numel() > 0))
    return reduced(loss, options.reduction);
  // All rows ignored: 0 instead of PyTorch's NaN, so that an empty batch does not end a run.
  return div(sum(loss), counted_rows(target, options.ignore_index, loss.dtype()));
}

Tensor smoothed_target(const Tensor& target, double smoothing) {
  if (smoothing == 0) return target;
  return affine(target, 1 - smoothing, smoothing / static_cast<double>(target.size(-1)));
}

Tensor soft_cross_entropy(const Tensor& logits, const Tensor& target,
                          const CrossEntropyOptions& options) {
  FOVEA_CHECK(
      logits.rank() >= 1 && logits.shape() == target.shape() && is_floating(target.dtype()),
      ShapeError,
      fmt::format("soft_cross_entropy: logits are {}, targets {} {}; expected "
                  "probabilities of the same shape",
                  to_string(logits.shape()), name_of(target.dtype()), to_string(target.shape())));
  check_smoothing("soft_cross_entropy", options);
  Tensor smoothed = smoothed_target(target, options.label_smoothing);
  if (!options.class_weights.empty()) {
    const Tensor weights = weight_row("soft_cross_entropy", logits, options);
    smoothed = mul(smoothed, reshape(weights, {logits.size(-1)}));
  }
  return reduced(neg(sum(mul(smoothed, log_softmax(logits)), {-1})), options.reduction);
}

Tensor bce_with_logits(const Tensor& logits, const Tensor& target, Reduction reduction) {
  FOVEA_CHECK(logits.shape() == target.shape(), ShapeError,
              fmt::format("bce_with_logits: logits are {}, targets {}; expected equal shapes",
                          to_string(logits.shape()), to_string(target.shape())));
  return reduced(sub(softplus(logits), mul(logits, target)), reduction);
}

Tensor mse(const Tensor& x, const Tensor& target, Reduction reduction) {
  FOVEA_CHECK(x.shape() == target.shape(), ShapeError,
              fmt::format("mse: x is {}, target {}; expected equal shapes", to_string(x.shape()),
                          to_string(target.shape())));
  return reduced(square(sub(x, target)), reduction);
}

}  // namespace fovea::ops
