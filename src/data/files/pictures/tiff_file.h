// TIFF files by libtiff: one picture of 8 or 16 bits, or of black and white.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// A file whose header says what is in it.
struct TiffHeader {
  std::int64_t height = 0, width = 0;
  std::int64_t channels = 0;      // 1 to 4; of a picture with a palette 3
  std::int64_t sample_bytes = 1;  // of a value
  bool palette = false;
  bool lossy = false;  // compressed as JPEG files are
};

/// Throws FileError starting with `name` for a header that cannot be read, and for what is no
/// picture here: several pages (smaller copies of the first do not count), values that are neither
/// whole numbers of 8 or 16 bits without sign nor black and white, more than four channels, colours
/// other than greys, red, green and blue, and those of a palette. one_page: false: there may be
/// several, and the first one's header is read.
TiffHeader tiff_header(std::span<const std::byte> file, std::string_view name,
                       bool one_page = true);
/// The picture. Black and white are 0 and 255, and greys of files in which 0 is white are turned.
/// indices: of a palette its indices instead of colours. Throws FileError for damage.
Image decode_tiff(std::span<const std::byte> file, std::string_view name, bool indices = false);
/// The pages of a file, smaller copies of one left out. Throws FileError, too, unless they are so
/// many, grey and as large as the first.
std::vector<Image> decode_tiff_pages(std::span<const std::byte> file, std::string_view name,
                                     std::int64_t pages);

}  // namespace fovea::data
