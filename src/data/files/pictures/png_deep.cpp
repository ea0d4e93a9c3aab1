#include "data/files/pictures/png_deep.h"

#include <zlib.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace fovea::data {
namespace {

void append_big_endian(std::string& to, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    to += static_cast<char>(value >> shift & 255);
}

// Length, type, content, checksum of the last two.
void append_chunk(std::string& file, std::string_view type, const std::string& content) {
  append_big_endian(file, content.size(), 4);
  std::string typed(type);
  typed += content;
  file += typed;
  const auto crc =
      ::crc32(0, reinterpret_cast<const Bytef*>(typed.data()), static_cast<uInt>(typed.size()));
  append_big_endian(file, crc, 4);
}

std::string deflated(const std::string& raw) {
  uLongf size = ::compressBound(raw.size());
  std::string content(size, '\0');
  const int done =
      ::compress(reinterpret_cast<Bytef*>(content.data()), &size,
                 reinterpret_cast<const Bytef*>(raw.data()), static_cast<uLong>(raw.size()));
  FOVEA_CHECK(done == Z_OK, FileError, "encode_png: out of memory");
  content.resize(size);
  return content;
}

}  // namespace

std::string encode_deep_png(const Image& image) {
  constexpr std::array kColourTypes = {0, 4, 2, 6};  // grey, with alpha, RGB, with alpha
  std::string header;
  append_big_endian(header, static_cast<std::uint64_t>(image.width), 4);
  append_big_endian(header, static_cast<std::uint64_t>(image.height), 4);
  header += {16, static_cast<char>(kColourTypes.at(static_cast<std::size_t>(image.channels - 1))),
             0, 0, 0};
  std::string rows;
  const auto row = static_cast<std::size_t>(image.width * image.channels);
  for (std::size_t i = 0; i < image.deep.size(); ++i) {
    if (i % row == 0) rows += '\0';  // no filter
    append_big_endian(rows, image.deep[i], 2);
  }
  std::string file("\x89PNG\r\n\x1a\n");
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT", deflated(rows));
  append_chunk(file, "IEND", "");
  return file;
}

}  // namespace fovea::data
