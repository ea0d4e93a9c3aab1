// RoIAlign: a map of fixed size for each box (He et al., "Mask R-CNN", ICCV 2017). mala 4.5.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

struct RoiAlignOptions {
  std::int64_t height = 7, width = 7;  // of the result
  double spatial_scale = 1;            // pixels of the map for one of the image
  /// Samples of a bin along each axis; 0: as many as a bin has pixels, rounded up.
  std::int64_t sampling_ratio = 0;
};

/// Means over the bins of boxes, with half a pixel taken off as torchvision's `aligned`: a
/// coordinate c is place c spatial_scale - 0.5 of the map. Samples are interpolated between four
/// pixels, held to the edge up to one pixel outside the map, and 0 beyond. x: (b, c, h, w) on any
/// device, rois: (n, 5) float32 (number of the item, x1, y1, x2, y2) on the host or on x's device
/// -> (n, c, height, width). Boxes that are not finite, and of sampling_ratio 0 those without an
/// area, give zeros. The gradient is that of x. Throws ShapeError for a number outside [0, b) on
/// the host.
Tensor roi_align(const Tensor& x, const Tensor& rois, const RoiAlignOptions& options);

struct RoiLevelOptions {
  double finest_scale = 56;  // boxes whose sides are under twice this many pixels read level 0
  std::int64_t sampling_ratio = 0;
};

/// The level of each box: floor(log2(sqrt(w h) / finest_scale + 1e-6)), held to [0, levels). rois:
/// (n, 5) on the host.
std::vector<std::int64_t> roi_levels(const Tensor& rois, std::int64_t levels, double finest_scale);

/// roi_align of every box on the level of a pyramid that fits its size. levels: maps (b, c, h, w)
/// of one device, `strides` pixels of the image to one of theirs; rois: (n, 5) on the host ->
/// (n, c, size, size). Levels that no box reads have gradients of zero.
Tensor extract_rois(const std::vector<Tensor>& levels, const std::vector<double>& strides,
                    const Tensor& rois, std::int64_t size, const RoiLevelOptions& options = {});

}  // namespace fovea::ops
