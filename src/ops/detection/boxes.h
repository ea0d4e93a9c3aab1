// Boxes: overlaps, the coder of regression targets, clipping. mala 4.5.
//
// A box is x1 y1 x2 y2 in pixels: its width is x2 - x1, without the extra pixel of old toolkits.
// Functions here are loops of the host on float32 tensors of the host, without gradients, unless
// they say otherwise: boxes are few, and detectors bring them to the host once a step. They throw
// ShapeError for tensors of another shape or dtype.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/tensor.h"

namespace fovea::ops {

/// Intersection over union, which counts as at least 1e-6. a: (n, 4), b: (m, 4) -> (n, m).
Tensor box_iou(const Tensor& a, const Tensor& b);
/// Intersection over the area of the box of a. a: (n, 4), b: (m, 4) -> (n, m).
Tensor box_iof(const Tensor& a, const Tensor& b);
/// (x2 - x1) (y2 - y1). (n, 4) -> (n).
Tensor box_areas(const Tensor& boxes);
/// Corners moved into [0, width] x [0, height]. (n, 4) -> (n, 4).
Tensor clip_boxes(const Tensor& boxes, std::int64_t height, std::int64_t width);

/// How a box is written as the way from another one (mmdet's DeltaXYWHBBoxCoder, means 0).
struct BoxCoder {
  std::array<double, 4> stds{1, 1, 1, 1};
  /// Sizes change at most by this factor or its inverse when they are decoded.
  double wh_ratio_clip = 16.0 / 1000;
};

/// dx = (tx - bx) / bw, dy, dw = log(tw / bw), dh of centres and sizes, divided by the stds. Sizes
/// count as at least 1e-6, so that boxes of no area have finite ones. boxes, truth: (n, 4) ->
/// (n, 4).
Tensor encode_boxes(const Tensor& boxes, const Tensor& truth, const BoxCoder& coder = {});
/// The reverse, not clipped to an image. boxes, deltas: (n, 4) of one dtype -> (n, 4). On any
/// device; the gradient is that of the deltas.
Tensor decode_boxes(const Tensor& boxes, const Tensor& deltas, const BoxCoder& coder = {});

}  // namespace fovea::ops
