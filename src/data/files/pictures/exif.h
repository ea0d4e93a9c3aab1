// The orientation of the camera, from the EXIF data of a JPEG file.
#pragma once

#include <cstddef>
#include <span>

#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// 1 to 8 (EXIF 2.3, tag 0x0112); 1 (upright) where the file has none or an invalid one. The first
/// 16 KiB of a file suffice.
int jpeg_orientation(std::span<const std::byte> file);

/// The picture turned upright, for an orientation of 1 to 8. 5 to 8 exchange height and width.
Image oriented(Image image, int orientation);

}  // namespace fovea::data
