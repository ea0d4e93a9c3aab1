#include "data/files/hdf5/filters.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fovea::data::hdf5 {
namespace {

constexpr std::uint64_t kDeflate = 1, kShuffle = 2, kFletcher = 3, kLzf = 32000;
constexpr std::size_t kSumBytes = 4;

struct KnownFilter {
  std::uint64_t id;
  const char* name;
};
constexpr std::array<KnownFilter, 11> kNotRead = {{{4, "szip"},
                                                   {5, "nbit"},
                                                   {6, "scaleoffset"},
                                                   {307, "bzip2"},
                                                   {32001, "blosc"},
                                                   {32004, "lz4"},
                                                   {32008, "bitshuffle"},
                                                   {32013, "zfp"},
                                                   {32015, "zstd"},
                                                   {32017, "sz"},
                                                   {32026, "blosc2"}}};

std::vector<std::byte> inflated(const Bytes& file, const std::vector<std::byte>& chunk,
                                std::size_t most) {
  std::vector<std::byte> out(most);
  uLongf size = static_cast<uLongf>(most);
  const int status =
      ::uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                   reinterpret_cast<const Bytef*>(chunk.data()), static_cast<uLong>(chunk.size()));
  if (status != Z_OK) file.damaged("a chunk compressed with gzip cannot be expanded");
  out.resize(size);
  return out;
}

// Shuffle: the first bytes of all values, then the second bytes, ...; a remainder follows
// unchanged.
std::vector<std::byte> unshuffled(const std::vector<std::byte>& chunk, std::size_t each) {
  if (each <= 1) return chunk;
  const std::size_t count = chunk.size() / each;
  std::vector<std::byte> out(chunk.size());
  for (std::size_t k = 0; k < each; ++k) {
    const std::byte* from = chunk.data() + k * count;
    for (std::size_t i = 0; i < count; ++i) out[i * each + k] = from[i];
  }
  std::copy(chunk.begin() + static_cast<std::ptrdiff_t>(count * each), chunk.end(),
            out.begin() + static_cast<std::ptrdiff_t>(count * each));
  return out;
}

std::uint32_t fletcher32(std::span<const std::byte> data) {
  const auto fold = [](std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  constexpr std::size_t kWords = 360;  // so many cannot overflow
  std::uint32_t low = 0, high = 0;
  std::size_t at = 0;
  while (data.size() - at >= 2) {
    for (std::size_t i = 0; i < kWords && data.size() - at >= 2; ++i, at += 2) {
      low += static_cast<std::uint32_t>(data[at]) << 8 | static_cast<std::uint32_t>(data[at + 1]);
      high += low;
    }
    low = fold(low), high = fold(high);
  }
  if (at < data.size()) {
    low += static_cast<std::uint32_t>(data[at]) << 8;
    high += low;
    low = fold(low), high = fold(high);
  }
  return fold(high) << 16 | fold(low);
}

void check_fletcher(const Bytes& file, std::vector<std::byte>& chunk) {
  if (chunk.size() < kSumBytes) file.damaged("a chunk is shorter than its checksum");
  const std::size_t bytes = chunk.size() - kSumBytes;
  const auto noted =
      static_cast<std::uint32_t>(Cursor(file, std::span(chunk).last(kSumBytes)).number(kSumBytes));
  chunk.resize(bytes);
  const std::uint32_t sum = fletcher32(chunk);
  // Old versions of the library wrote the bytes of each half the other way round.
  const std::uint32_t swapped = (sum & 0x00ff00ffu) << 8 | (sum & 0xff00ff00u) >> 8;
  if (noted != sum && noted != swapped) file.damaged("a chunk differs from its checksum");
}

// Marc Lehmann's LZF: literal pieces, and references to earlier ones.
std::vector<std::byte> expanded_lzf(const Bytes& file, const std::vector<std::byte>& chunk,
                                    std::size_t most) {
  std::vector<std::byte> out;
  out.reserve(most);
  Cursor in(file, chunk);
  const auto check = [&](std::size_t more) {
    if (more > most - out.size()) file.damaged("a chunk compressed with lzf is too long");
  };
  while (in.left() > 0) {
    const std::size_t control = in.byte();
    if (control < 32) {
      const auto plain = in.take_bytes(control + 1);
      check(plain.size());
      out.insert(out.end(), plain.begin(), plain.end());
      continue;
    }
    std::size_t length = control >> 5;
    if (length == 7) length += in.byte();
    length += 2;
    const std::size_t back = ((control & 31) << 8) + in.byte() + 1;
    check(length);
    if (back > out.size()) file.damaged("a chunk compressed with lzf refers to what is not there");
    for (std::size_t i = 0; i < length; ++i) out.push_back(out[out.size() - back]);
  }
  return out;
}

}  // namespace

void check_filters(const Bytes& file, const std::string& path, const std::vector<Filter>& filters) {
  for (const Filter& filter : filters) {
    if (filter.id >= kDeflate && filter.id <= kFletcher) continue;
    if (filter.id == kLzf) continue;
    const auto known =
        std::find_if(kNotRead.begin(), kNotRead.end(),
                     [&](const KnownFilter& other) { return other.id == filter.id; });
    file.refuse(fmt::format(
        "\"{}\" is packed with the filter {} ({}), which is not read; gzip (deflate), lzf, shuffle "
        "and fletcher32 are: write it again with h5py and compression=\"gzip\"",
        path, filter.id, known == kNotRead.end() ? "unknown" : known->name));
  }
}

std::vector<std::byte> unfiltered(const Bytes& file, const std::string& path,
                                  std::vector<std::byte> chunk, const std::vector<Filter>& filters,
                                  std::uint32_t mask, std::size_t bytes) {
  check_filters(file, path, filters);
  // Between the filters a chunk is at most a few checksums longer.
  const std::size_t most = bytes + kSumBytes * filters.size();
  for (std::size_t i = filters.size(); i-- > 0;) {
    if (i < 32 && (mask >> i & 1) != 0) continue;
    const Filter& filter = filters[i];
    if (filter.id == kDeflate) {
      chunk = inflated(file, chunk, most);
    } else if (filter.id == kShuffle) {
      chunk = unshuffled(chunk, filter.values.empty() ? 1 : filter.values[0]);
    } else if (filter.id == kFletcher) {
      check_fletcher(file, chunk);
    } else {
      chunk = expanded_lzf(file, chunk, most);
    }
  }
  if (chunk.size() != bytes)
    file.damaged(fmt::format("a chunk holds {} bytes, expected {}", chunk.size(), bytes));
  return chunk;
}

}  // namespace fovea::data::hdf5
