// Which pixels of a segmented image a user asks about.
#pragma once

#include <string>

#include "explain/maps/token_map.h"
#include "tensor/tensor.h"

namespace fovea::explain {

/// The pixels that `region` means, of an image of this size: (1, h, w), of a volume (1, d, h, w),
/// uint8, 1 where a pixel counts. "40,52": the pixel in that row and column, from 0; "30,40,60,80":
/// the box from its first row and column to its last ones; of volumes with the slice in front,
/// "12,40,52" and "10,30,40,14,60,80". Else a picture of the image's size, whose pixels count that
/// are not black. Throws ConfigError, and FileError for a picture that cannot be read.
Tensor region_of(const std::string& region, const GridSize& size, const Device& host);

}  // namespace fovea::explain
