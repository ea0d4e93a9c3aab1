// PNG files of 16 bits a value, which stb does not write.
#pragma once

#include <string>

#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// The content of a PNG file of `image.deep`, 1 to 4 channels. Throws FileError if there is not
/// enough memory.
std::string encode_deep_png(const Image& image);

}  // namespace fovea::data
