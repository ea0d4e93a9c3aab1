// Losses.
#pragma once

#include "tensor/tensor.h"

namespace fovea::ops {

enum class Reduction { kNone, kMean, kSum };

struct CrossEntropyOptions {
  double label_smoothing = 0;        // target (1 - e) onehot + e / classes
  std::int64_t ignore_index = -100;  // rows with this target do not count
  Reduction reduction = Reduction::kMean;
};

/// -log softmax(logits)[target]. logits: (..., classes), target: (...) int64. The mean is over rows
/// that count. Throws ShapeError for a target outside [0, classes). dgsa 6.4.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options = {});
/// softplus(x) - x t, stable for all x. logits and target of one shape.
Tensor bce_with_logits(const Tensor& logits, const Tensor& target,
                       Reduction reduction = Reduction::kMean);
Tensor mse(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean);

}  // namespace fovea::ops
