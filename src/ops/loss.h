// Losses. The mean over an empty batch is 0, so that it does not end a run with PyTorch's NaN.
#pragma once

#include <vector>

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

/// -[t max(ln p, -100) + (1 - t) max(ln(1 - p), -100)] of probabilities in [0, 1], soft targets
/// allowed, as PyTorch's BCELoss; the gradient is 0 where the bound holds. Prefer bce_with_logits
/// where the network does not end in a sigmoid of its own. kcla 5.4.
Tensor bce(const Tensor& prob, const Tensor& target, Reduction reduction = Reduction::kMean);
/// 1 - mean over b of (2 sum(p t) + smooth) / (sum p + sum t + smooth), sums over all axes but the
/// first, so that an empty mask counts. prob, target: (b, ...) of one shape -> (). kcla 5.4.
Tensor dice_loss(const Tensor& prob, const Tensor& target, double smooth = 1);

struct BceDiceOptions {
  double bce_weight = 1;
  double dice_weight = 1;
  double smooth = 1;
};
/// bce_weight BCE + dice_weight Dice. kcla 5.4.
Tensor bce_dice(const Tensor& prob, const Tensor& target, const BceDiceOptions& options = {});
/// bce_dice of the main map, plus the same of each auxiliary map times its weight (deep
/// supervision). All maps have the target's shape. Throws ShapeError unless there is one weight a
/// map. kcla 5.4.
Tensor bce_dice(const Tensor& prob, const std::vector<Tensor>& auxiliary,
                const std::vector<double>& weights, const Tensor& target,
                const BceDiceOptions& options = {});

}  // namespace fovea::ops
