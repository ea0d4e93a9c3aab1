// Boundary difference over union: maps of logits against maps of labels by regions of classes, over
// a whole batch. gdla 6.3.
#pragma once

#include <vector>

#include "ops/losses/loss.h"

namespace fovea::ops {

struct RegionLossOptions {
  bool sigmoid = false;                                            // else softmax over the classes
  double smooth = 1e-5;                                            // added to both sides
  std::vector<double> class_weights = {};                          // one a class; none: 1 each
  std::int64_t ignore_index = CrossEntropyOptions{}.ignore_index;  // such pixels do not count
};

/// (z + y - 2 I + smooth) / (z + y - (1 + alpha) I + smooth), times the weight of the class, with
/// alpha = min(0.8, 2 (1 - (C + smooth) / (y + smooth)) - 1), C the pixels of a class that have a
/// 4-neighbour of another class, or outside the image (Sun et al., boundary difference over union).
/// Here I = sum(p t), y = sum(t), z = sum(p^2) of each class over all pixels of the batch, p of the
/// logits (b, k, h, w), t the target (b, h, w) int64 as 0 and 1; mean over the classes, the
/// background too -> (). A class that is not there has the loss 1 and no gradient. Throws
/// ShapeError for other axes, a target outside [0, k), and another number of weights.
Tensor boundary_dou(const Tensor& logits, const Tensor& target,
                    const RegionLossOptions& options = {});

}  // namespace fovea::ops
