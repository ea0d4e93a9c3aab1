// Resizing pictures, and fitting pictures of any size to what a network sees, as PIL does it (and
// torchvision and timm, which call PIL).
#pragma once

#include <cstdint>

#include "data/augment/geometry.h"
#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// How pixels of a resized picture are computed. Half-pixel centres.
struct ResizeOptions {
  Resampling how = Resampling::kBilinear;
  /// When shrinking, average over all pixels that fall into one, as PIL always does. Off: only the
  /// 2 x 2 or 4 x 4 neighbours of a centre are read, as PyTorch does with antialias=False.
  bool antialias = true;
  /// Round once at the end, as torchvision does with tensors. Off: after each of the two axes, as
  /// Pillow.
  bool round_once = false;
};

/// 8 bits with antialiasing: Pillow's bits where the aspect ratio is kept, else within 2 of 255;
/// nearest: always; without: torchvision's tensors but for 1. Cubics: a = -0.5, without -0.75.
Image resize(const Image& image, std::int64_t height, std::int64_t width,
             const ResizeOptions& options = {});

/// Bilinear with antialiasing and nothing rounded: PyTorch's interpolate with antialias=True. The
/// channels must be equal; `to` must not overlap `from`.
void resize(Planes from, Planes to);

/// Below it the resized picture would be more than a hundred times as large as what is kept of it.
inline constexpr double kLeastCropPct = 0.01;

/// Resizing, then the centre, as timm and torchvision evaluate.
struct FitOptions {
  /// Share of the resized picture's shorter side that is kept: that side is resized to
  /// floor(size / crop_pct). 0.875 is torchvision's 256 for 224. From kLeastCropPct to 1.
  double crop_pct = 1;
  ResizeOptions resize;
  /// Off: height x width at once, whatever the picture's aspect ratio; crop_pct means nothing then.
  bool keep_ratio = true;
};

/// A picture of any size at height x width, its aspect ratio kept unless the options say otherwise.
Image fit(const Image& image, std::int64_t height, std::int64_t width,
          const FitOptions& options = {});
/// The part of a picture of this size that fit() keeps, in the picture's own pixels, rounded.
Box fitted_part(std::int64_t from_height, std::int64_t from_width, std::int64_t height,
                std::int64_t width, const FitOptions& options = {});

}  // namespace fovea::data
