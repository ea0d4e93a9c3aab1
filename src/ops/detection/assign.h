// Which box learns which object: mmdet's MaxIoUAssigner. mala 4.5. A loop of the host, as all of
// boxes.h.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

/// By the largest overlap (box_iou) of a box with any object: below `negative` it is background,
/// from `positive` on it belongs to that object, the first of equal ones, and in between it is
/// ignored. Cascades have one number for all three.
struct AssignOptions {
  double positive = 0.5, negative = 0.5;
  /// Of `low_quality`: every object, in order, also takes all boxes with exactly its largest
  /// overlap, wherever that is at least this.
  double min_positive = 0;
  bool low_quality = false;
};

/// For every box -1 (ignored), 0 (background) or the number of its object from 1 on. boxes: (n, 4),
/// truth: (m, 4). Without truth all is background. With a min_positive of 0 an object that meets no
/// box takes every box, as in mmdet: its largest overlap is 0. (Anchors leave no object without
/// one.)
///
/// crowds: (k, 4) regions that are neither objects nor background, or undefined. A box of which at
/// least half lies in one of them (box_iof) is ignored and belongs to no object. (mmdet's
/// ignore_iof_thr, which is off there unless a configuration sets it.)
std::vector<std::int64_t> assign_boxes(const Tensor& boxes, const Tensor& truth,
                                       const AssignOptions& options, const Tensor& crowds = {});

}  // namespace fovea::ops
