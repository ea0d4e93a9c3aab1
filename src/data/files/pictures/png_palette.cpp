#include "data/files/pictures/png_palette.h"

#include <zlib.h>

#include <string>

#include "data/files/bytes.h"
#include "data/files/pictures/image_check.h"

namespace fovea::data {
namespace {

constexpr std::size_t kSignature = 8;
constexpr std::size_t kHeaderChunk = 25;  // length, type, 13 bytes, checksum
constexpr std::size_t kDepthAt = kSignature + 16;
constexpr std::size_t kColourTypeAt = kSignature + 17;

bool has_colour(Bytes palette) {
  for (std::size_t i = 0; i + 3 <= palette.size(); i += 3) {
    if (palette[i] != palette[i + 1] || palette[i] != palette[i + 2]) return true;
  }
  return false;
}

// The header with another colour type, and its checksum.
std::vector<std::byte> grey_header(Bytes file) {
  std::vector<std::byte> header(file.begin(), file.begin() + kSignature + kHeaderChunk);
  header[kColourTypeAt] = std::byte{0};
  const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(header.data() + kSignature + 4), 17);
  for (std::size_t k = 0; k < 4; ++k) {
    header[kSignature + 21 + k] = static_cast<std::byte>(crc >> (24 - 8 * k) & 0xffu);
  }
  return header;
}

}  // namespace

std::optional<ColourPalette> find_colour_palette(Bytes file) {
  constexpr int kPaletteType = 3;
  if (image_format(file) != ImageFormat::kPng || file.size() < kSignature + kHeaderChunk ||
      std::to_integer<int>(file[kColourTypeAt]) != kPaletteType) {
    return std::nullopt;
  }
  const int depth = std::to_integer<int>(file[kDepthAt]);
  ColourPalette found{grey_header(file), static_cast<std::uint8_t>(depth == 1   ? 255
                                                                   : depth == 2 ? 85
                                                                   : depth == 4 ? 17
                                                                                : 1)};
  bool colour = false;
  // A grey PNG must not have a palette, and stores its transparency differently.
  for (std::size_t i = kSignature + kHeaderChunk; file.size() - i >= 12;) {
    const std::size_t length = big32(file, i);
    if (file.size() - i - 12 < length) return std::nullopt;
    const Bytes chunk = file.subspan(i, length + 12);
    const std::string type(reinterpret_cast<const char*>(chunk.data() + 4), 4);
    if (type == "PLTE") {
      colour = has_colour(chunk.subspan(8, length));
    } else if (type != "tRNS") {
      found.grey_file.insert(found.grey_file.end(), chunk.begin(), chunk.end());
    }
    i += length + 12;
  }
  if (!colour) return std::nullopt;
  return found;
}

}  // namespace fovea::data
