// How a camera was held: the orientation that EXIF notes in a JPEG file.
#pragma once

#include <cstddef>
#include <span>

#include "data/files/image_file.h"

namespace fovea::data {

/// 1 to 8 (EXIF 2.3, tag 0x0112); 1, which is upright, where the file says nothing or nonsense. The
/// first 16 KiB of a file do.
int jpeg_orientation(std::span<const std::byte> file);

/// The picture as it was seen, for an orientation of 1 to 8. 5 to 8 exchange height and width.
Image oriented(Image image, int orientation);

}  // namespace fovea::data
