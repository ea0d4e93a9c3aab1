// Anchors: the boxes that every place of a map begins with. mala 4.5.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

/// Of a place: an anchor for each ratio and scale, ratios first; with height scale x stride x
/// sqrt(ratio) and width scale x stride / sqrt(ratio).
struct AnchorOptions {
  std::vector<double> scales, ratios;
  double center_offset = 0;  // of the centre from the place's corner, in strides

  std::int64_t of_place() const { return std::ssize(scales) * std::ssize(ratios); }
};

/// The anchors of a map of h x w places, `stride` pixels apart, by row, column and anchor:
/// (h w of_place(), 4) float32 in pixels, in the host's memory. Place (row, column) has its corner
/// at (column stride, row stride). Throws ShapeError without scales or ratios.
Tensor grid_anchors(std::int64_t h, std::int64_t w, double stride, const AnchorOptions& options);

}  // namespace fovea::ops
