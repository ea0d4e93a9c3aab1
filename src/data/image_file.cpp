#include "data/image_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "data/image_check.h"

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

using Bytes = std::span<const std::byte>;

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
  image.pixels.resize(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < image.pixels.size(); ++k) {
    std::int64_t value = std::to_integer<std::int64_t>(file[i++]);
    if (sample_bytes == 2) value = value << 8 | std::to_integer<std::int64_t>(file[i++]);
    image.pixels[k] =
        static_cast<std::uint8_t>((std::min(value, *maximum) * 255 + *maximum / 2) / *maximum);
  }
  return image;
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
  FOVEA_CHECK(std::int64_t{height} * width * channels * sample_bytes <= kMaxDecodedBytes, FileError,
              fmt::format("{}: {} x {} pixels of {} x {} bytes, at most {} bytes are decoded", name,
                          height, width, channels, sample_bytes, kMaxDecodedBytes));
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, 0), stbi_image_free);
  FOVEA_CHECK(pixels != nullptr, FileError,
              fmt::format("{}: cannot be decoded: {}", name, stbi_failure_reason()));
  Image image{.height = height, .width = width, .channels = channels, .pixels = {}};
  image.pixels.assign(pixels.get(), pixels.get() + image.height * image.width * image.channels);
  return image;
}

Image convert_channels(Image image, std::int64_t channels) {
  if (channels == 0 || channels == image.channels) return image;
  const std::int64_t colours = image.channels >= 3 ? 3 : 1;
  Image result{image.height, image.width, channels, {}};
  result.pixels.resize(static_cast<std::size_t>(image.height * image.width * channels));
  const std::uint8_t* from = image.pixels.data();
  for (std::uint8_t* to = result.pixels.data(); to != result.pixels.data() + result.pixels.size();
       to += channels, from += image.channels) {
    if (channels == 3) {
      for (std::int64_t c = 0; c < 3; ++c) to[c] = from[colours == 3 ? c : 0];
    } else {
      to[0] = colours == 1
                  ? from[0]
                  : static_cast<std::uint8_t>((77 * from[0] + 150 * from[1] + 29 * from[2]) >> 8);
    }
  }
  return result;
}

// One axis of a bilinear resize: which inputs an output reads, with which weights.
struct Tap {
  std::int64_t first = 0;
  std::vector<float> weights;
};

std::vector<Tap> bilinear_taps(std::int64_t in, std::int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double support = std::max(1.0, scale);
  std::vector<Tap> taps(static_cast<std::size_t>(out));
  for (std::int64_t o = 0; o < out; ++o) {
    const double centre = (static_cast<double>(o) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - support + 0.5));
    const auto last = std::min(in, static_cast<std::int64_t>(centre + support + 0.5));
    Tap& tap = taps[static_cast<std::size_t>(o)];
    tap.first = first;
    double total = 0.0;
    for (std::int64_t i = first; i < last; ++i) {
      const double distance = std::abs((static_cast<double>(i) + 0.5 - centre) / support);
      const double weight = std::max(0.0, 1.0 - distance);
      tap.weights.push_back(static_cast<float>(weight));
      total += weight;
    }
    for (float& weight : tap.weights) weight = static_cast<float>(weight / total);
  }
  return taps;
}

}  // namespace

bool has_image_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) {
    return c < 128 ? static_cast<char>(std::tolower(c)) : '?';
  });
  for (const char* known : {".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".pnm"}) {
    if (extension == known) return true;
  }
  return false;
}

Image decode_image(Bytes file, std::string_view name, std::int64_t channels) {
  FOVEA_CHECK(channels == 0 || channels == 1 || channels == 3, ShapeError,
              fmt::format("decode_image: channels is {}; expected 0, 1 or 3", channels));
  FOVEA_CHECK(!file.empty(), FileError, fmt::format("{}: is empty, expected an image", name));
  FOVEA_CHECK(file.size() <= kMaxImageFileBytes, FileError,
              fmt::format("{}: holds {} bytes, at most {} expected", name, file.size(),
                          kMaxImageFileBytes));
  const ImageFormat format = image_format(file);
  FOVEA_CHECK(format != ImageFormat::kUnknown, FileError,
              fmt::format("{}: is not a PNG, JPEG, BMP or binary PNM image", name));
  const std::string damage = find_damage(file, format);
  FOVEA_CHECK(
      damage.empty(), FileError,
      fmt::format("{}: is damaged: {}; the copy or download may have failed", name, damage));
  return convert_channels(
      format == ImageFormat::kPnm ? decode_pnm(file, name) : decode_stb(file, name), channels);
}

Image read_image(const std::filesystem::path& path, std::int64_t channels) {
  const std::vector<std::byte> file = io::read_bytes(path, kMaxImageFileBytes);
  return decode_image(file, path.string(), channels);
}

std::string encode_png(const Image& image) {
  FOVEA_CHECK(image.channels >= 1 && image.channels <= 4 && image.height >= 1 && image.width >= 1 &&
                  image.height <= kMaxPixels && image.width <= kMaxPixels / image.height &&
                  image.bytes() == image.height * image.width * image.channels,
              ShapeError,
              fmt::format("encode_png: {} bytes do not make a {} x {} image of {} channels",
                          image.pixels.size(), image.height, image.width, image.channels));
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

Image resize(const Image& image, std::int64_t height, std::int64_t width) {
  FOVEA_CHECK(height >= 1 && width >= 1 && image.height >= 1 && image.width >= 1, ShapeError,
              fmt::format("resize: {} x {} to {} x {}; every size must be at least 1", image.height,
                          image.width, height, width));
  if (image.height == height && image.width == width) return image;
  const auto across = bilinear_taps(image.width, width);
  const auto down = bilinear_taps(image.height, height);
  const std::int64_t c = image.channels;
  std::vector<float> rows(static_cast<std::size_t>(image.height * width * c));
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const Tap& tap = across[static_cast<std::size_t>(x)];
      const std::uint8_t* from = image.pixels.data() + (y * image.width + tap.first) * c;
      float* to = rows.data() + (y * width + x) * c;
      for (const float weight : tap.weights) {
        for (std::int64_t k = 0; k < c; ++k) to[k] += weight * static_cast<float>(*from++);
      }
    }
  }
  Image result{height, width, c, {}};
  result.pixels.resize(static_cast<std::size_t>(height * width * c));
  for (std::int64_t y = 0; y < height; ++y) {
    const Tap& tap = down[static_cast<std::size_t>(y)];
    for (std::int64_t k = 0; k < width * c; ++k) {
      float sum = 0.0f;
      const float* from = rows.data() + tap.first * width * c + k;
      for (const float weight : tap.weights) {
        sum += weight * *from;
        from += width * c;
      }
      result.pixels[static_cast<std::size_t>(y * width * c + k)] =
          static_cast<std::uint8_t>(std::clamp(sum + 0.5f, 0.0f, 255.0f));
    }
  }
  return result;
}

}  // namespace fovea::data
