// Patches: parts of pictures with masks on which networks are trained, where pictures keep their
// own sizes. nnU-Net's oversampling of foreground.
#pragma once

#include <cstdint>

#include "data/augment/geometry.h"
#include "data/files/pictures/image_file.h"
#include "tensor/random.h"

namespace fovea::data {

/// What the mask of a picture (Source::read_mask) says of its pixels.
struct PatchMask {
  const Image& pixels;
  bool labels = false;  // 1 + class, 0 where there is none; else shares, half and more foreground
  bool background = true;  // of labels: the first class is the background
};

/// A part of height x width of a picture. It lies anywhere; or, with `foreground` and where the
/// picture has any, its middle is a random pixel of a random class. Where only some pixels have a
/// class, "anywhere" is around one of those. It is moved to where it lies inside; along an axis
/// that is shorter than the part, the picture is in the middle of it, as in windows of an
/// evaluation.
Box draw_patch(const PatchMask& mask, std::int64_t height, std::int64_t width, bool foreground,
               const RandomStream& stream);

/// What of a box lies in a picture of this size.
Box inside(const Box& box, std::int64_t height, std::int64_t width);

}  // namespace fovea::data
