#include "data/files/pictures/image_check.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "data/files/bytes.h"

namespace fovea::data {
namespace {

// Bytes a PNG of this header may inflate to: rows of pixels with a filter byte each, twice that for
// the passes of an interlaced one.
std::uint64_t png_raw_bytes(Bytes header) {
  const std::uint64_t width = big32(header, 0);
  const std::uint64_t height = big32(header, 4);
  if (width > (1u << 30) || height > (1u << 30)) return 0;  // refused by the size check later
  const std::uint64_t bits = byte_at(header, 8) * 4;        // at most four channels
  return 2 * height * (width * bits / 8 + 2) + 4096;
}

// Counts what the IDAT chunks inflate to, because stb inflates all of it whatever the header says.
class InflateCounter {
 public:
  InflateCounter() { ok_ = ::inflateInit(&stream_) == Z_OK; }
  ~InflateCounter() { ::inflateEnd(&stream_); }
  InflateCounter(const InflateCounter&) = delete;
  InflateCounter& operator=(const InflateCounter&) = delete;

  /// False once more than `limit` bytes came out. Damage in the stream is left to the decoder.
  bool add(Bytes chunk, std::uint64_t limit) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(chunk.data()));
    stream_.avail_in = static_cast<uInt>(chunk.size());
    int status = ok_ ? Z_OK : Z_DATA_ERROR;
    while (status == Z_OK && stream_.avail_in > 0) {
      stream_.next_out = buffer_.data();
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      status = ::inflate(&stream_, Z_NO_FLUSH);
      if (stream_.total_out > limit) return false;
    }
    ok_ = ok_ && (status == Z_OK || status == Z_BUF_ERROR);
    return true;
  }

 private:
  z_stream stream_{};
  bool ok_ = false;
  std::array<Bytef, 1 << 15> buffer_{};
};

// Chunks of length, type, data, CRC-32 up to IEND.
std::string png_damage(Bytes file) {
  // Below this a stream cannot inflate to more than some tens of megabytes, and the count is
  // skipped.
  constexpr std::size_t kHarmlessBytes = std::size_t{1} << 15;
  std::optional<InflateCounter> counter;
  std::uint64_t limit = 0;
  std::size_t i = 8;
  for (bool first = true;; first = false) {
    if (file.size() - i < 12) return "cut short: no IEND chunk";
    const std::size_t length = big32(file, i);
    if (file.size() - i - 12 < length) return "cut short inside a chunk";
    const Bytes typed = file.subspan(i + 4, length + 4);
    const auto crc =
        ::crc32(0, reinterpret_cast<const Bytef*>(typed.data()), static_cast<uInt>(typed.size()));
    std::string type;
    for (std::size_t k = 0; k < 4; ++k) {
      const auto c = static_cast<char>(byte_at(typed, k));
      type += (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ? c : '?';
    }
    if (crc != big32(file, i + 8 + length)) return fmt::format("chunk {} fails its checksum", type);
    if (first) {
      if (type != "IHDR" || length != 13) return "does not start with a header chunk";
      limit = png_raw_bytes(typed.subspan(4));
      if (file.size() > kHarmlessBytes) counter.emplace();
    }
    if (type == "IDAT" && counter && !counter->add(typed.subspan(4), limit)) {
      return "inflates to more than its size promises";
    }
    if (type == "IEND") return "";
    i += length + 12;
  }
}

// The Huffman tables that a file has given so far: bit 4 x class (0 DC, 1 AC) + number.
using HuffmanTables = std::uint32_t;

// Tables of a class and a number, 16 counts of codes, and the codes. stb 2.27 has room for 256
// codes and does not check; nor, in progressive files, that a DC code stands for at most 15 bits.
bool huffman_tables_are_valid(Bytes payload, HuffmanTables& given) {
  while (!payload.empty()) {
    if (payload.size() < 17) return false;
    std::size_t codes = 0;
    for (std::size_t k = 1; k <= 16; ++k) codes += byte_at(payload, k);
    if (codes > 256 || payload.size() - 17 < codes) return false;
    const bool dc = byte_at(payload, 0) >> 4 == 0;
    for (std::size_t k = 17; dc && k < 17 + codes; ++k) {
      if (byte_at(payload, k) > 15) return false;
    }
    given |= 1u << (4 * (byte_at(payload, 0) >> 4 & 1) + (byte_at(payload, 0) & 3));
    payload = payload.subspan(17 + codes);
  }
  return true;
}

// Markers of frames whose scans are coded arithmetically, without Huffman tables. (stb_image reads
// none of them and says so.)
bool is_arithmetic(std::uint32_t marker) {
  return marker >= 0xC9 && marker <= 0xCF && marker != 0xCC;
}

// A scan of n components: n, then a name and two table numbers (DC, AC) each, then the first and
// the last coefficient. stb does not check whether the tables were defined.
bool scan_has_its_tables(Bytes payload, HuffmanTables given, bool progressive) {
  const std::size_t n = payload.empty() ? 0 : byte_at(payload, 0);
  if (n == 0 || payload.size() < 2 * n + 4) return false;
  const bool dc = !progressive || byte_at(payload, 2 * n + 1) == 0;
  const bool ac = !progressive || !dc;
  for (std::size_t k = 0; k < n; ++k) {
    const std::uint32_t numbers = byte_at(payload, 2 * k + 2);
    if (dc && (given >> (numbers >> 4 & 3) & 1u) == 0) return false;
    if (ac && (given >> (4 + (numbers & 3)) & 1u) == 0) return false;
  }
  return true;
}

// Marker segments; the entropy-coded data after a start of scan runs to the next marker.
std::string jpeg_damage(Bytes file) {
  constexpr std::uint32_t kScan = 0xDA;
  constexpr std::uint32_t kEnd = 0xD9;
  constexpr std::uint32_t kHuffman = 0xC4;
  constexpr std::uint32_t kProgressive = 0xC2;
  // Every scan walks over the whole picture: a few bytes each, so their number must be bounded.
  constexpr int kMaxScans = 64;
  int scans = 0;
  HuffmanTables tables = 0;
  bool progressive = false, arithmetic = false;
  const auto is_restart = [](std::uint32_t marker) { return marker >= 0xD0 && marker <= 0xD7; };
  std::size_t i = 2;
  for (;;) {
    // Between segments, and inside scan data, everything up to the next true marker is passed over.
    while (i + 1 < file.size()) {
      const std::uint32_t next = byte_at(file, i + 1);
      if (byte_at(file, i) == 0xFF && next != 0 && next != 0xFF && !is_restart(next)) break;
      ++i;
    }
    if (i + 1 >= file.size()) return "cut short: no end-of-image marker";
    const std::uint32_t marker = byte_at(file, i + 1);
    if (marker == kEnd) return "";
    if (marker == 0x01 || marker == 0xD8) {  // no length follows
      i += 2;
      continue;
    }
    if (file.size() - i < 4) return "cut short inside a segment";
    const std::size_t length = byte_at(file, i + 2) << 8 | byte_at(file, i + 3);
    if (length < 2) return fmt::format("segment {:02x} has length {}", marker, length);
    if (file.size() - i - 2 < length) {
      return marker == kScan ? "cut short before its pixels" : "cut short inside a segment";
    }
    const Bytes payload = file.subspan(i + 4, length - 2);
    if (marker == kHuffman && !huffman_tables_are_valid(payload, tables)) {
      return "a Huffman table is not valid";
    }
    if (marker == kProgressive) progressive = true;
    if (is_arithmetic(marker)) arithmetic = true;
    if (marker == kScan) {
      if (++scans > kMaxScans) return fmt::format("more than {} scans", kMaxScans);
      if (!arithmetic && !scan_has_its_tables(payload, tables, progressive)) {
        return "a scan needs a Huffman table that is not there";
      }
    }
    i += 2 + length;
  }
}

std::string bmp_damage(Bytes file) {
  if (file.size() < 30) return "cut short inside the header";
  const std::uint64_t offset = little32(file, 10);
  const bool core = little32(file, 14) == 12;  // the OS/2 header with 16-bit sizes
  const std::uint64_t width =
      core ? byte_at(file, 18) | byte_at(file, 19) << 8 : little32(file, 18);
  const auto signed_height = static_cast<std::int32_t>(little32(file, 22));
  const std::uint64_t height =
      core ? byte_at(file, 20) | byte_at(file, 21) << 8
           : static_cast<std::uint64_t>(std::abs(std::int64_t{signed_height}));
  const std::uint64_t bits = core ? byte_at(file, 24) | byte_at(file, 25) << 8
                                  : byte_at(file, 28) | byte_at(file, 29) << 8;
  if (bits > 32) return fmt::format("{} bits a pixel, at most 32 expected", bits);
  const std::uint64_t row = (width * bits + 31) / 32 * 4;
  if (height != 0 && row > (std::uint64_t{1} << 40) / height) return "declares an impossible size";
  const std::uint64_t expected = offset + row * height;
  if (file.size() < expected) {
    return fmt::format("cut short: {} bytes, {} expected", file.size(), expected);
  }
  return "";
}

}  // namespace

ImageFormat image_format(Bytes file) {
  if (starts_with(file, "\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (starts_with(file, "\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (starts_with(file, "BM")) return ImageFormat::kBmp;
  if (starts_with(file, "P5") || starts_with(file, "P6")) return ImageFormat::kPnm;
  for (const std::string_view magic :
       {std::string_view("II*\0", 4), std::string_view("MM\0*", 4), std::string_view("II+\0", 4),
        std::string_view("MM\0+", 4)}) {
    if (starts_with(file, magic)) return ImageFormat::kTiff;
  }
  const bool webp =
      starts_with(file, "RIFF") && file.size() >= 12 && starts_with(file.subspan(8), "WEBP");
  return webp ? ImageFormat::kWebp : ImageFormat::kUnknown;
}

std::string find_damage(Bytes file, ImageFormat format) {
  switch (format) {
    case ImageFormat::kPng:
      return png_damage(file);
    case ImageFormat::kJpeg:
      return jpeg_damage(file);
    case ImageFormat::kBmp:
      return bmp_damage(file);
    case ImageFormat::kPnm:
    case ImageFormat::kTiff:
    case ImageFormat::kWebp:
    case ImageFormat::kUnknown:
      return "";
  }
  return "";
}

}  // namespace fovea::data
