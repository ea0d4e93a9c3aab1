// PNG files whose pixels are numbers of palette entries, as label maps often are. stb_image gives
// only the colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fovea::data {

/// The same pixels as a grey PNG, whose values, divided by `scale`, are the numbers of the entries.
struct ColourPalette {
  std::vector<std::byte> grey_file;
  std::uint8_t scale = 1;
};

/// Nothing unless `file` is a PNG with a palette in which at least one entry is no grey.
std::optional<ColourPalette> find_colour_palette(std::span<const std::byte> file);

}  // namespace fovea::data
