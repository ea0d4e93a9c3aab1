// Losses of volumes of classes: nnU-Net's, and that of the dformer paper. dformer 7.5.
#pragma once

#include <vector>

#include "ops/losses/loss.h"

namespace fovea::ops {

struct NnUnetOptions {
  double smooth = 1e-5;     // added to both sides of a Dice
  bool background = false;  // class 0 has a Dice
  bool batch_dice = true;   // of a class over the whole batch, not of each item
  double ce_weight = 1;     // 0: the Dice alone
  double dice_weight = 1;   // 0: the cross-entropy alone
  std::int64_t ignore_index = CrossEntropyOptions{}.ignore_index;  // such places do not count
};

/// ce_weight CE - dice_weight mean(dc): CE the mean over the places that count of -log p_y, dc = (2
/// tp + smooth) / (2 tp + fp + fn + smooth + 1e-8) of every class with tp = sum(p y), fp = sum(p (1
/// - y)), fn = sum((1 - p) y), p = softmax(logits); so it tends to -1. logits: (b, k, spatial...),
/// target: (b, spatial...) int64 -> (). Throws ShapeError for a target outside [0, k).
Tensor nnunet_loss(const Tensor& logits, const Tensor& target, const NnUnetOptions& options = {});

struct PaperEq8Options {
  bool bce = false;  // the first term is the mean of y log p + (1 - y) log(1 - p) of all classes
  double smooth = 1e-5;
  std::int64_t ignore_index = CrossEntropyOptions{}.ignore_index;  // such places do not count
};

/// The paper's Eq. 8, -mean over items of (ce / 2 + dice): ce the mean over places of log p_y, dice
/// the mean over all classes of 2 sum(p y) / (sum p + sum y + smooth). Shapes as above.
Tensor paper_eq8(const Tensor& logits, const Tensor& target, const PaperEq8Options& options = {});

/// Labels (b, spatial...) int64 at other spatial sizes: place floor((i + 0.5) in / out).
Tensor nearest_labels(const Tensor& labels, const std::vector<std::int64_t>& size);

}  // namespace fovea::ops
