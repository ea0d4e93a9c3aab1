#include "data/files/pictures/image_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/extension.h"
#include "base/file.h"
#include "data/files/bytes.h"
#include "data/files/pictures/exif.h"
#include "data/files/pictures/image_check.h"
#include "data/files/pictures/image_pages.h"
#include "data/files/pictures/jpeg_file.h"
#include "data/files/pictures/png_deep.h"
#include "data/files/pictures/png_palette.h"
#include "data/files/pictures/tiff_file.h"
#include "data/files/pictures/webp_file.h"

// The one translation unit that compiles stb; static, so that no other library's copy collides. Its
// memory begins as zeros: on damaged JPEG files stb 2.27 reads tables that it never filled.
#define STBI_MALLOC(size) std::calloc(1, size)
#define STBI_REALLOC(memory, size) std::realloc(memory, size)
#define STBI_FREE(memory) std::free(memory)
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS (1 << 20)
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb_image.h>
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

namespace fovea::data {
namespace {

// A small file must not decode to a large picture: deflate cannot pass 1032 to 1, which is 8256
// pixels of one bit, and a JPEG block of 64 pixels needs at least a few bits.
constexpr std::int64_t kMaxPixelsPerByte = 16384;
// Decoded bytes, which bounds 16-bit pictures with alpha more tightly than kMaxPixels does.
constexpr std::int64_t kMaxDecodedBytes = std::int64_t{1} << 28;

void check_size(std::int64_t height, std::int64_t width, Bytes file, std::string_view name) {
  FOVEA_CHECK(height >= 1 && width >= 1, FileError,
              fmt::format("{}: declares {} x {} pixels", name, height, width));
  FOVEA_CHECK(height <= kMaxPixels && width <= kMaxPixels / height, FileError,
              fmt::format("{}: declares {} x {} pixels, at most {} are read", name, height, width,
                          kMaxPixels));
  FOVEA_CHECK(height * width / kMaxPixelsPerByte <= static_cast<std::int64_t>(file.size()),
              FileError,
              fmt::format("{}: declares {} x {} pixels in a file of {} bytes", name, height, width,
                          file.size()));
}

// Decimal number of a PNM header, after white space and # comments.
std::optional<std::int64_t> pnm_number(Bytes file, std::size_t& i) {
  const auto at = [&](std::size_t k) { return std::to_integer<int>(file[k]); };
  while (i < file.size() && (std::isspace(at(i)) != 0 || at(i) == '#')) {
    if (at(i) == '#') {
      while (i < file.size() && at(i) != '\n') ++i;
    } else {
      ++i;
    }
  }
  const std::size_t begin = i;
  std::int64_t value = 0;
  for (; i < file.size() && i - begin < 10 && std::isdigit(at(i)) != 0; ++i) {
    value = value * 10 + (at(i) - '0');
  }
  if (i == begin) return std::nullopt;
  return value;
}

// Binary PGM (P5) and PPM (P6). Written here because stb 2.27 reads past its buffer when it
// converts the channels of a 16-bit one.
Image decode_pnm(Bytes file, std::string_view name) {
  Image image;
  image.channels = std::to_integer<char>(file[1]) == '6' ? 3 : 1;
  std::size_t i = 2;
  const auto width = pnm_number(file, i);
  const auto height = pnm_number(file, i);
  const auto maximum = pnm_number(file, i);
  FOVEA_CHECK(width && height && maximum, FileError,
              fmt::format("{}: no width, height and maximum in the PNM header", name));
  FOVEA_CHECK(*maximum >= 1 && *maximum <= 65535, FileError,
              fmt::format("{}: PNM maximum is {}, 1..65535 expected", name, *maximum));
  image.width = *width;
  image.height = *height;
  check_size(image.height, image.width, file, name);
  ++i;  // the single white space before the pixels
  const std::int64_t count = image.height * image.width * image.channels;
  const std::int64_t sample_bytes = *maximum > 255 ? 2 : 1;
  const auto have = static_cast<std::int64_t>(file.size() - std::min(i, file.size()));
  FOVEA_CHECK(have >= count * sample_bytes, FileError,
              fmt::format("{}: header promises {} bytes of pixels, file holds {}; the copy or "
                          "download was cut short",
                          name, count * sample_bytes, have));
  const auto next = [&] { return std::to_integer<std::int64_t>(file[i++]); };
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t value = sample_bytes == 2 ? (next() << 8) + next() : next();
    const std::int64_t white = sample_bytes == 2 ? 65535 : 255;
    const std::int64_t scaled = (std::min(value, *maximum) * white + *maximum / 2) / *maximum;
    if (sample_bytes == 2) {
      image.deep.push_back(static_cast<std::uint16_t>(scaled));
    } else {
      image.pixels.push_back(static_cast<std::uint8_t>(scaled));
    }
  }
  return image;
}

void check_decoded_size(std::int64_t height, std::int64_t width, std::int64_t channels,
                        std::int64_t sample_bytes, std::string_view name) {
  FOVEA_CHECK(height * width * channels * sample_bytes <= kMaxDecodedBytes, FileError,
              fmt::format("{}: {} x {} pixels of {} x {} bytes, at most {} bytes are decoded", name,
                          height, width, channels, sample_bytes, kMaxDecodedBytes));
}

Image decode_stb(Bytes file, std::string_view name) {
  const auto* data = reinterpret_cast<const stbi_uc*>(file.data());
  const int size = static_cast<int>(file.size());
  int width = 0;
  int height = 0;
  int channels = 0;
  FOVEA_CHECK(stbi_info_from_memory(data, size, &width, &height, &channels) != 0, FileError,
              fmt::format("{}: cannot be decoded: {}", name, stbi_failure_reason()));
  check_size(height, width, file, name);
  const std::int64_t sample_bytes = stbi_is_16_bit_from_memory(data, size) != 0 ? 2 : 1;
  check_decoded_size(height, width, channels, sample_bytes, name);
  Image image{.height = height, .width = width, .channels = channels, .pixels = {}};
  const std::int64_t count = image.height * image.width * image.channels;
  const auto take = [&]<class T>(T* decoded) {
    const std::unique_ptr<T, void (*)(void*)> values(decoded, stbi_image_free);
    FOVEA_CHECK(values != nullptr, FileError,
                fmt::format("{}: cannot be decoded: {}", name, stbi_failure_reason()));
    image.values<T>().assign(values.get(), values.get() + count);
  };
  if (sample_bytes == 2) {
    take(stbi_load_16_from_memory(data, size, &width, &height, &channels, 0));
  } else {
    take(stbi_load_from_memory(data, size, &width, &height, &channels, 0));
  }
  return image;
}

Image decode_jpeg(Bytes file, std::string_view name) {
  const std::unique_ptr<JpegFile> jpeg = open_jpeg(file, name);
  if (jpeg == nullptr) return decode_stb(file, name);
  check_size(jpeg->height(), jpeg->width(), file, name);
  check_decoded_size(jpeg->height(), jpeg->width(), jpeg->channels(), 1, name);
  return jpeg->decode();
}

Image decode_checked_tiff(Bytes file, std::string_view name, bool indices = false) {
  const TiffHeader header = tiff_header(file, name);
  check_size(header.height, header.width, file, name);
  check_decoded_size(header.height, header.width, header.channels, header.sample_bytes, name);
  return decode_tiff(file, name, indices);
}

Image decode_checked_webp(Bytes file, std::string_view name) {
  const WebpHeader header = webp_header(file, name);
  check_size(header.height, header.width, file, name);
  check_decoded_size(header.height, header.width, header.channels, 1, name);
  return decode_webp(file, name);
}

Image decode(Bytes file, ImageFormat format, std::string_view name) {
  if (format == ImageFormat::kPnm) return decode_pnm(file, name);
  if (format == ImageFormat::kTiff) return decode_checked_tiff(file, name);
  if (format == ImageFormat::kWebp) return decode_checked_webp(file, name);
  return format == ImageFormat::kJpeg ? decode_jpeg(file, name) : decode_stb(file, name);
}

bool is_lossy(Bytes file, ImageFormat format, std::string_view name) {
  if (format == ImageFormat::kTiff) return tiff_header(file, name).lossy;
  if (format == ImageFormat::kWebp) return webp_header(file, name).lossy;
  return format == ImageFormat::kJpeg;
}

// PIL's weights, in 1 / 65536.
template <class T>
T grey(T red, T green, T blue) {
  const std::uint64_t sum = 19595 * std::uint64_t{red} + 38470 * std::uint64_t{green} +
                            7471 * std::uint64_t{blue} + 32768;
  return static_cast<T>(sum >> 16);
}

Image convert_channels(const Image& image, std::int64_t channels) {
  const bool colour = image.channels >= 3;
  Image result{image.height, image.width, channels, {}};
  visit_values(image, [&]<class T>(const std::vector<T>& values) {
    std::vector<T>& converted = result.values<T>();
    converted.reserve(static_cast<std::size_t>(image.height * image.width * channels));
    for (auto from = values.begin(); from != values.end(); from += image.channels) {
      if (channels == 1) {
        converted.push_back(colour ? grey(from[0], from[1], from[2]) : from[0]);
      } else {
        for (std::int64_t c = 0; c < 3; ++c) converted.push_back(from[colour ? c : 0]);
      }
    }
  });
  return result;
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  return io::read_bytes(path, kMaxImageFileBytes);
}

}  // namespace

const std::vector<std::string>& image_extensions() {
  static const std::vector<std::string> kEndings = {".png",  ".jpg",  ".jpeg", ".bmp", ".tif",
                                                    ".tiff", ".webp", ".pgm",  ".ppm", ".pnm"};
  return kEndings;
}

bool has_image_extension(const std::filesystem::path& path) {
  return std::ranges::count(image_extensions(), lower_extension(path)) > 0;
}

std::string jpeg_decoder() {
  const std::string version = libjpeg_version();
  return version.empty() ? "stb_image" : version;
}

Image decode_image(Bytes file, std::string_view name, std::int64_t channels, Exif exif) {
  FOVEA_CHECK(channels == 0 || channels == 1 || channels == 3, ShapeError,
              fmt::format("decode_image: channels is {}; expected 0, 1 or 3", channels));
  FOVEA_CHECK(!file.empty(), FileError, fmt::format("{}: is empty, expected an image", name));
  FOVEA_CHECK(file.size() <= kMaxImageFileBytes, FileError,
              fmt::format("{}: holds {} bytes, at most {} expected", name, file.size(),
                          kMaxImageFileBytes));
  const ImageFormat format = image_format(file);
  FOVEA_CHECK(format != ImageFormat::kUnknown, FileError,
              fmt::format("{}: is not a PNG, JPEG, TIFF, WebP, BMP or binary PNM image", name));
  const std::string damage = find_damage(file, format);
  FOVEA_CHECK(
      damage.empty(), FileError,
      fmt::format("{}: is damaged: {}; the copy or download may have failed", name, damage));
  Image image = decode(file, format, name);
  if (channels != 0 && channels != image.channels) image = convert_channels(image, channels);
  if (exif == Exif::kApply && format == ImageFormat::kJpeg) {
    image = oriented(std::move(image), jpeg_orientation(file));
  }
  return image;
}

Image read_image(const std::filesystem::path& path, std::int64_t channels, Exif exif) {
  return decode_image(read_file(path), path.string(), channels, exif);
}

std::vector<Image> decode_image_pages(Bytes file, std::string_view name, std::int64_t pages) {
  FOVEA_CHECK(image_format(file) == ImageFormat::kTiff, FileError,
              fmt::format("{}: is one picture; expected a TIFF of {} pages", name, pages));
  const TiffHeader header = tiff_header(file, name, false);
  check_size(header.height, header.width, file, name);
  check_decoded_size(header.height, header.width, pages, header.sample_bytes, name);
  return decode_tiff_pages(file, name, pages);
}

std::vector<Image> read_image_pages(const std::filesystem::path& path, std::int64_t pages) {
  return decode_image_pages(read_file(path), path.string(), pages);
}

MaskFile read_mask_file(const std::filesystem::path& path, MaskPixels pixels) {
  const std::vector<std::byte> file = read_file(path);
  const ImageFormat format = image_format(file);
  MaskFile mask{decode_image(file, path.string(), 1), is_lossy(file, format, path.string())};
  if (pixels == MaskPixels::kGrey) return mask;
  if (format == ImageFormat::kTiff && tiff_header(file, path.string()).palette)
    mask.image = decode_checked_tiff(file, path.string(), true);
  if (const auto palette = find_colour_palette(file)) {
    mask.image = decode_image(palette->grey_file, path.string(), 1);
    for (std::uint8_t& value : mask.image.pixels) {
      value = static_cast<std::uint8_t>(value / palette->scale);
    }
  }
  return mask;
}

std::string encode_png(const Image& image) {
  const auto values =
      static_cast<std::int64_t>(visit_values(image, [](const auto& all) { return all.size(); }));
  FOVEA_CHECK(image.channels >= 1 && image.channels <= 4 && image.height >= 1 && image.width >= 1 &&
                  image.height <= kMaxPixels && image.width <= kMaxPixels / image.height &&
                  values == image.height * image.width * image.channels,
              ShapeError,
              fmt::format("encode_png: {} values do not make a {} x {} image of {} channels",
                          values, image.height, image.width, image.channels));
  if (!image.deep.empty()) return encode_deep_png(image);
  std::string content;
  const auto append = [](void* context, void* data, int size) {
    static_cast<std::string*>(context)->append(static_cast<const char*>(data),
                                               static_cast<std::size_t>(size));
  };
  const int done =
      stbi_write_png_to_func(append, &content, static_cast<int>(image.width),
                             static_cast<int>(image.height), static_cast<int>(image.channels),
                             image.pixels.data(), static_cast<int>(image.width * image.channels));
  FOVEA_CHECK(done != 0 && !content.empty(), FileError, "encode_png: out of memory");
  return content;
}

void write_png(const std::filesystem::path& path, const Image& image) {
  io::write_atomic(path, encode_png(image));
}

}  // namespace fovea::data
