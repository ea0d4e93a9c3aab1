// PNG files of 16 bits a value, which stb does not write.
#pragma once

#include <string>

#include "data/files/image_file.h"

namespace fovea::data {

/// The content of a file of `image.deep`, 1 to 4 channels. Throws FileError where memory ends.
std::string encode_deep_png(const Image& image);

}  // namespace fovea::data
