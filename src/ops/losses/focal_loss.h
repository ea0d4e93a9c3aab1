// Focal losses (Lin et al., "Focal loss for dense object detection", ICCV 2017): cross-entropies in
// which what is right already counts little. That of detectors is in detection_loss.h.
#pragma once

#include <vector>

#include "ops/losses/loss.h"

namespace fovea::ops {

struct FocalOptions {
  double gamma = 2;                  // 0: the cross-entropy
  std::int64_t ignore_index = -100;  // rows with this target do not count
  Reduction reduction = Reduction::kMean;
  std::vector<double> class_weights = {};  // one a class; none: 1 each
};

/// -w (1 - p)^gamma log p of the class of each row, p = softmax(logits)[target]. logits: (...,
/// classes), target: (...) int64. The mean is that of cross_entropy(): over the weights of the rows
/// that count. Throws ShapeError as that.
Tensor focal_loss(const Tensor& logits, const Tensor& target, const FocalOptions& options = {});
/// The sum over the classes of -w t (1 - p)^gamma log p, where rows of the target are probabilities
/// t of the classes (..., classes), and a plain mean, as soft_cross_entropy(). options.ignore_index
/// is not used.
Tensor soft_focal_loss(const Tensor& logits, const Tensor& target,
                       const FocalOptions& options = {});
/// focal_loss() of every pixel: logits (b, k, spatial...), target (b, spatial...) int64.
Tensor pixel_focal_loss(const Tensor& logits, const Tensor& target,
                        const FocalOptions& options = {});

/// a (1 - q)^gamma BCE(x, t), with q = p t + (1 - p)(1 - t) of p = sigmoid(x) and a = alpha t + (1
/// - alpha)(1 - t); alpha below 0: a = 1. torchvision's sigmoid_focal_loss, soft targets allowed.
/// logits and target of one shape.
Tensor binary_focal_loss(const Tensor& logits, const Tensor& target, double alpha = 0.25,
                         double gamma = 2, Reduction reduction = Reduction::kMean);

}  // namespace fovea::ops
