// Non-maximum suppression. Loops of the host, as all of boxes.h. mala 4.5.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

/// The boxes that stay, the highest score first, of equal scores the first box first. A box goes
/// where one with a higher score that stays overlaps it by more than `threshold`, and where its
/// score is not a number. boxes: (n, 4), scores: (n) float32.
std::vector<std::int64_t> nms(const Tensor& boxes, const Tensor& scores, double threshold);
/// The same with boxes of different groups (levels, classes) left alone; groups: n numbers. (As
/// mmdet's and torchvision's, which shift the groups apart instead.)
std::vector<std::int64_t> batched_nms(const Tensor& boxes, const Tensor& scores,
                                      const std::vector<std::int64_t>& groups, double threshold);

/// What an image's boxes come down to, the highest score first.
struct Kept {
  Tensor boxes;                    // (m, 4)
  Tensor scores;                   // (m)
  Tensor labels;                   // (m) int64
  std::vector<std::int64_t> rows;  // of the boxes that were given
};

/// Every box is tried as every class that scores above score_threshold, and suppressed within its
/// class; the `most` best are kept (all with a negative number). boxes: (n, 4), or (n, 4 k) with a
/// box for each class; scores: (n, k), without a column for background.
Kept multiclass_nms(const Tensor& boxes, const Tensor& scores, double score_threshold,
                    double iou_threshold, std::int64_t most);

}  // namespace fovea::ops
