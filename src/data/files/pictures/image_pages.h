// The pages of a TIFF file in memory, with the checks that every picture passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// As read_image_pages(), of a file's content; messages start with `name`.
std::vector<Image> decode_image_pages(std::span<const std::byte> file, std::string_view name,
                                      std::int64_t pages);

}  // namespace fovea::data
