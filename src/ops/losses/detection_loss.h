// Losses of detectors: made of operations, on any device. Sums and means of nothing are 0, with
// gradients of zero. mala 4.5.
#pragma once

#include "ops/losses/loss.h"

namespace fovea::ops {

/// Focal loss (Lin et al., "Focal loss for dense object detection", ICCV 2017) of a sigmoid for
/// each class: -w (1 - q)^gamma log q, where q is the probability given to the truth: p, with w =
/// alpha, for the class of a row, and 1 - p, with w = 1 - alpha, for all others. logits: (n, k),
/// target: (n) int64, k for background (no class), -1 for a row that does not count -> (), or (n,
/// k) without a reduction.
Tensor sigmoid_focal_loss(const Tensor& logits, const Tensor& target, double alpha = 0.25,
                          double gamma = 2, Reduction reduction = Reduction::kSum);

/// Of d = |x - target|: d - beta / 2, or d^2 / (2 beta) where d < beta. beta = 0: d itself. x and
/// target of one shape.
Tensor smooth_l1(const Tensor& x, const Tensor& target, double beta = 0,
                 Reduction reduction = Reduction::kMean);

/// 1 - GIoU (Rezatofighi et al., CVPR 2019): the overlap of two boxes less the share of their hull
/// that neither of them covers; 0 to 2. Union and hull count as at least eps. a, b: (n, 4) corners
/// -> (n). Both have gradients.
Tensor giou_loss(const Tensor& a, const Tensor& b, double eps = 1e-6);

/// Binary cross-entropy of the masks of the objects' own classes: the mean over all pixels of
/// logits[i, labels[i]] against targets[i]. logits: (n, k, s, s), labels: (n) int64 in [0, k),
/// targets: (n, s, s) -> ().
Tensor mask_bce(const Tensor& logits, const Tensor& labels, const Tensor& targets);

}  // namespace fovea::ops
