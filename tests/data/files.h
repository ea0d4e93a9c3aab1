// Temporary folders and small valid files, which the tests of readers then damage.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "base/file.h"
#include "data/files/pictures/image_file.h"

namespace fovea::data::test {

/// A folder of its own, removed at the end of the scope.
class Folder {
 public:
  Folder() {
    static int count = 0;
    path = std::filesystem::temp_directory_path() /
           ("fovea_data_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    io::make_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// Writes a file and the folders above it.
  std::filesystem::path write(const std::string& name, std::string_view content) const {
    io::make_directories((path / name).parent_path());
    io::File file(path / name, io::File::Mode::kCreate);
    file.write(content);
    return path / name;
  }

  std::filesystem::path path;
};

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string gzip(std::string_view content) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// An image whose pixels all differ from their neighbours.
inline Image pattern(std::int64_t height, std::int64_t width, std::int64_t channels, int seed = 0) {
  Image image{height, width, channels, {}};
  for (std::int64_t i = 0; i < height * width * channels; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(i * 37 + i / 5 + seed * 11));
  }
  return image;
}

/// A PNG as a header says: `rows` are the packed bytes of each row, `palette` three bytes an entry.
/// Colour types: 0 grey, 2 RGB, 3 palette, 4 grey + alpha, 6 RGB + alpha.
inline std::string png(std::int64_t height, std::int64_t width, int depth, int colour_type,
                       const std::vector<std::string>& rows, const std::string& palette = "") {
  const auto number = [](std::uint32_t value) {
    std::string text;
    for (int k = 3; k >= 0; --k) text += static_cast<char>(value >> (8 * k) & 0xffu);
    return text;
  };
  const auto chunk = [&](const std::string& type, const std::string& content) {
    const std::string typed = type + content;
    const auto crc =
        ::crc32(0, reinterpret_cast<const Bytef*>(typed.data()), static_cast<uInt>(typed.size()));
    return number(static_cast<std::uint32_t>(content.size())) + typed +
           number(static_cast<std::uint32_t>(crc));
  };
  std::string raw;
  for (const std::string& row : rows) raw += '\0' + row;  // no filter
  std::string packed(compressBound(raw.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(raw.data()), raw.size());
  packed.resize(size);
  const std::string header = number(static_cast<std::uint32_t>(width)) +
                             number(static_cast<std::uint32_t>(height)) + static_cast<char>(depth) +
                             static_cast<char>(colour_type) + std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) +
         (palette.empty() ? "" : chunk("PLTE", palette)) + chunk("IDAT", packed) +
         chunk("IEND", "");
}

/// A grey PNG of 16 bits.
inline std::string png16(std::int64_t height, std::int64_t width,
                         const std::vector<std::uint16_t>& values) {
  std::vector<std::string> rows(static_cast<std::size_t>(height));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string& row = rows[i / static_cast<std::size_t>(width)];
    row += static_cast<char>(values[i] >> 8);
    row += static_cast<char>(values[i] & 0xff);
  }
  return png(height, width, 16, 0, rows);
}

/// A mask of 0 and 255.
inline Image mask_pattern(std::int64_t height, std::int64_t width, int seed = 0) {
  Image image = pattern(height, width, 1, seed);
  for (std::uint8_t& pixel : image.pixels) pixel = pixel % 3 == 0 ? 255 : 0;
  return image;
}

/// A 24-bit BMP, bottom row first.
inline std::string bmp(const Image& image) {
  const auto put = [](std::string& out, std::uint32_t value, int count) {
    for (int k = 0; k < count; ++k) out += static_cast<char>(value >> (8 * k) & 0xffu);
  };
  const auto h = static_cast<std::uint32_t>(image.height);
  const auto w = static_cast<std::uint32_t>(image.width);
  const std::uint32_t row = (w * 3 + 3) / 4 * 4;
  std::string out = "BM";
  put(out, 54 + row * h, 4);
  put(out, 0, 4);
  put(out, 54, 4);
  put(out, 40, 4);
  put(out, w, 4);
  put(out, h, 4);
  put(out, 1, 2);
  put(out, 24, 2);
  for (int k = 0; k < 6; ++k) put(out, 0, 4);
  for (std::uint32_t y = h; y-- > 0;) {
    for (std::uint32_t x = 0; x < row; ++x) {
      const std::uint32_t pixel = x / 3;
      out += x < w * 3 ? static_cast<char>(image.pixels[(y * w + pixel) * 3 + 2 - x % 3]) : '\0';
    }
  }
  return out;
}

inline std::string ppm(const Image& image) {
  std::string out = image.channels == 3 ? "P6" : "P5";
  out += "\n# made by a test\n" + std::to_string(image.width) + " " + std::to_string(image.height) +
         "\n255\n";
  return out.append(image.pixels.begin(), image.pixels.end());
}

}  // namespace fovea::data::test
