// Masks of objects between an image and the boxes of a mask head. Loops of the host, as all of
// boxes.h. mala 4.5.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

/// What a mask head learns: of mask which[i] of masks (m, h, w) uint8, nonzero where the object is,
/// the part in box i of boxes (n, 4) as side x side pixels, by RoIAlign with as many samples as
/// pixels; 1 where at least half of a pixel is of the object, else 0. -> (n, side, side) float32.
/// Throws ShapeError for a number outside [0, m).
Tensor mask_targets(const Tensor& masks, const Tensor& boxes,
                    const std::vector<std::int64_t>& which, std::int64_t side);

/// The reverse: probabilities (n, s, s) float32 laid into their boxes (n, 4) of images of h x w
/// pixels, interpolated between the centres of pixels and 0 around the box -> (n, h, w) float32.
/// Nothing is laid into a box of no area. (mmdet's and torchvision's pasting, before a threshold of
/// 0.5.) The result is large: hand over a few boxes at a time.
Tensor paste_masks(const Tensor& probabilities, const Tensor& boxes, std::int64_t h,
                   std::int64_t w);

}  // namespace fovea::ops
