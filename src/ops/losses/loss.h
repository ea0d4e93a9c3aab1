// Losses. The mean over an empty batch is 0, so that it does not end a run with PyTorch's NaN.
#pragma once

#include <functional>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

enum class Reduction { kNone, kMean, kSum };

/// The mean or sum of all elements, or the loss itself.
Tensor reduced(const Tensor& loss, Reduction reduction);

struct CrossEntropyOptions {
  double label_smoothing = 0;        // target (1 - e) onehot + e / classes
  std::int64_t ignore_index = -100;  // rows with this target do not count
  Reduction reduction = Reduction::kMean;
  std::vector<double> class_weights = {};  // one a class, as PyTorch's weight; none: 1 each
  bool count_ignored = false;  // the mean is over all rows, in which those that do not count are 0
};

/// -log softmax(logits)[target], times the weight of the class. logits: (..., classes), target:
/// (...) int64. The mean is over rows that count: their sum over the sum of their weights; with
/// count_ignored over the number of all rows, as in mmseg (mala 4.4). Throws ShapeError for a
/// target outside [0, classes), and for another number of weights. dgsa 6.4.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options = {});
/// (1 - e) target + e / classes: label smoothing of rows of probabilities (..., classes).
Tensor smoothed_target(const Tensor& target, double smoothing);
/// sum over classes of -t log softmax(logits), t = smoothed_target(target,
/// options.label_smoothing). logits and target: (..., classes), rows of the target are
/// probabilities; with class_weights each class's part times its weight, and a plain mean, as in
/// PyTorch. Smoothing a mixture of classes equals mixing smoothed classes. options.ignore_index is
/// not used. Throws ShapeError unless both have one shape. mala 7.1.
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& target,
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
/// bce_weight BCE + dice_weight Dice of probabilities. kcla 5.4.
Tensor bce_dice(const Tensor& prob, const Tensor& target, const BceDiceOptions& options = {});

/// cross_entropy of every pixel: logits (b, k, spatial...), target (b, spatial...) int64. The mean
/// is over the pixels of the batch that count.
Tensor pixel_cross_entropy(const Tensor& logits, const Tensor& target,
                           const CrossEntropyOptions& options = {});

struct LabelDiceOptions {
  double smooth = 1e-5;       // added to both sides
  bool background = true;     // class 0 counts
  bool batch = false;         // sums are over the pixels of the whole batch, not of each item
  bool squared_pred = false;  // sum p^2 in the denominator
  bool sigmoid = false;       // of each map instead of a softmax over the classes
  std::vector<double> class_weights = {};  // one a class that counts; none: 1 each
  std::int64_t ignore_index = CrossEntropyOptions{}.ignore_index;  // such pixels do not
};
/// Mean over items and classes of 1 - (2 sum(p t) + smooth) / (sum p + sum t + smooth), times the
/// weight of the class, where p is the softmax over the k classes, t the target as 0 and 1 of each
/// class, and sums are over the pixels of an item that count. The options are MONAI's DiceLoss;
/// with squared_pred and batch it is that of gdla 6.3. logits: (b, k, spatial...), target: (b,
/// spatial...) int64 -> (). Throws ShapeError for a target outside [0, k), and for another number
/// of weights.
Tensor label_dice(const Tensor& logits, const Tensor& target, const LabelDiceOptions& options = {});

/// Deep supervision: the sum over maps (b, k, ...) of weight x loss(map), each map resized to
/// `size` first (linear, between the centres of pixels). One weight a map, or none: 1 each. Throws
/// ShapeError otherwise, and without maps.
Tensor over_maps(const std::vector<Tensor>& maps, const std::vector<double>& weights,
                 const std::vector<std::int64_t>& size,
                 const std::function<Tensor(const Tensor& map)>& loss);

}  // namespace fovea::ops
