// WebP files by libwebp, with the pixels that Pillow gives.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "data/files/pictures/image_file.h"

namespace fovea::data {

struct WebpHeader {
  std::int64_t height = 0, width = 0;
  std::int64_t channels = 0;  // 3, or 4 with alpha
  bool lossy = false;
};

/// Throws FileError starting with `name` for a header that cannot be read and for an animation.
WebpHeader webp_header(std::span<const std::byte> file, std::string_view name);
/// Throws FileError for a file that is cut short or damaged.
Image decode_webp(std::span<const std::byte> file, std::string_view name);

}  // namespace fovea::data
