// Pictures on disk: reading PNG, JPEG, BMP and binary PNM, writing PNG, bilinear resizing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::data {

/// Decoded pixels, (height, width, channels) row-major; 1 = grey, 2 = grey + alpha, 3 = RGB,
/// 4 = RGB + alpha.
struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::vector<std::uint8_t> pixels;

  std::int64_t bytes() const { return static_cast<std::int64_t>(pixels.size()); }
};

/// Largest height x width that is decoded; a file that declares more is refused by its header.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;
/// Largest image file that is read.
inline constexpr std::uint64_t kMaxImageFileBytes = std::uint64_t{1} << 28;

/// True for the endings .png .jpg .jpeg .bmp .pgm .ppm .pnm, in either case.
bool has_image_extension(const std::filesystem::path& path);

/// Decodes a whole file that is in memory. `channels` 1 or 3 converts (alpha is dropped, grey =
/// 0.30 R + 0.59 G + 0.11 B), 0 keeps what the file has. Files of 16 bits are reduced to 8.
/// The header is checked before anything is allocated; a file that is cut short, fails its
/// checksum or declares more than kMaxPixels throws FileError starting with `name`.
Image decode_image(std::span<const std::byte> file, std::string_view name,
                   std::int64_t channels = 0);
/// decode_image of a file's content.
Image read_image(const std::filesystem::path& path, std::int64_t channels = 0);

/// The file content of a PNG of `image` (1 to 4 channels). Throws ShapeError if pixels.size() is
/// not height x width x channels.
std::string encode_png(const Image& image);
/// Writes a PNG; the old file stays complete until the new one is.
void write_png(const std::filesystem::path& path, const Image& image);

/// Bilinear resize with half-pixel centres and replicated edges. When shrinking, every output pixel
/// averages with the triangle filter of its scale, as PIL does, so that fine detail does not alias.
Image resize(const Image& image, std::int64_t height, std::int64_t width);

}  // namespace fovea::data
