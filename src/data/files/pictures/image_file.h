// Pictures on disk: reading PNG, JPEG, TIFF, WebP, BMP and binary PNM, writing PNG.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::data {

/// Decoded pixels, (height, width, channels) row-major; 1 = grey, 2 = grey + alpha, 3 = RGB,
/// 4 = RGB + alpha. A value has 8 bits, or 16 where its file has more than 8: then `pixels` is
/// empty and `deep` holds them.
struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint16_t> deep = {};

  std::int64_t bytes() const { return static_cast<std::int64_t>(pixels.size() + 2 * deep.size()); }
  /// `pixels` or `deep`, by the type of a value.
  template <class T>
  std::vector<T>& values() {
    if constexpr (std::same_as<T, std::uint8_t>) {
      return pixels;
    } else {
      return deep;
    }
  }
};

/// Calls f(pixels) or f(deep), whichever the image has.
template <class F>
decltype(auto) visit_values(const Image& image, F&& f) {
  return image.deep.empty() ? f(image.pixels) : f(image.deep);
}

/// Largest height x width that is decoded; a file that declares more is refused by its header.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;
/// Largest image file that is read.
inline constexpr std::uint64_t kMaxImageFileBytes = std::uint64_t{1} << 28;

/// The endings of files that are read, in lower case, with their dots.
const std::vector<std::string>& image_extensions();
/// True for these endings, in either case.
bool has_image_extension(const std::filesystem::path& path);

/// Whether a picture is turned as the EXIF orientation of its JPEG file says (exif.h).
enum class Exif { kIgnore, kApply };

/// The decoder of JPEG files in this program: "libjpeg-turbo 2.1.5", or "stb_image".
std::string jpeg_decoder();

/// Decodes a whole file that is in memory. `channels` 1 or 3 converts (alpha is dropped, grey =
/// 0.299 R + 0.587 G + 0.114 B, rounded as PIL does), 0 keeps what the file has. JPEG files are
/// decoded by libjpeg-turbo where the program has it (jpeg_file.h), TIFF and WebP files by libtiff
/// and libwebp, PNG and BMP files by stb_image. The header
/// is checked before anything is allocated; a file that is cut short, fails its checksum or
/// declares more than kMaxPixels throws FileError starting with `name`.
Image decode_image(std::span<const std::byte> file, std::string_view name,
                   std::int64_t channels = 0, Exif exif = Exif::kIgnore);
/// decode_image of a file's content.
Image read_image(const std::filesystem::path& path, std::int64_t channels = 0,
                 Exif exif = Exif::kIgnore);

/// The pages of a TIFF file, so many, grey and of one size. Throws FileError, also for another kind
/// of file.
std::vector<Image> read_image_pages(const std::filesystem::path& path, std::int64_t pages);

/// How a mask's values are read. kStored: as in the file; for a colour palette the indices of its
/// entries (a grey palette gives its greys). kGrey: the greys of its colours.
enum class MaskPixels { kStored, kGrey };
/// One channel.
struct MaskFile {
  Image image;
  bool lossy = false;  // JPEG and most WebP files do not keep exact values
};
/// Throws FileError as read_image does.
MaskFile read_mask_file(const std::filesystem::path& path, MaskPixels pixels);

/// The file content of a PNG of `image`, 1 to 4 channels of 8 or 16 bits. Throws ShapeError unless
/// it has height x width x channels values.
std::string encode_png(const Image& image);
/// Writes a PNG; the old file stays complete until the new one is.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace fovea::data
