#include "data/files/hdf5/chunks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "data/files/hdf5/filters.h"

namespace fovea::data::hdf5 {
namespace {

// Deflate makes at most 1032 bytes of one; lzf less.
constexpr std::uint64_t kMostExpansion = 1100;
constexpr std::size_t kMostChunks = std::size_t{1} << 24;

struct StoredChunk {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t mask = 0;
};

class ChunkReader {
 public:
  ChunkReader(const File& file, const Dataset& dataset, const std::string& path)
      : file_(file), dataset_(dataset), path_(path), bytes_(dataset.type.bytes) {
    std::uint64_t count = 1;
    for (std::size_t i = 0; i < dataset.size.size(); ++i) {
      const std::uint64_t chunk = dataset.layout.chunk[i];
      grid_.push_back((dataset.size[i] - 1) / chunk + 1);
      if (__builtin_mul_overflow(count, grid_[i], &count) || count > kMostChunks)
        damaged("has too many chunks");
      if (__builtin_mul_overflow(bytes_, chunk, &bytes_) ||
          bytes_ > std::numeric_limits<std::int32_t>::max())
        damaged("has chunks that are far too large");
    }
    // Bytes are set aside for one, whatever the file holds.
    if (bytes_ / kMostExpansion > file.bytes().size) damaged("has chunks larger than the file");
    chunks_.resize(static_cast<std::size_t>(count));
  }

  void read(std::span<std::byte> out) {
    check_filters(file_.bytes(), path_, dataset_.filters);
    const Layout& layout = dataset_.layout;
    if (file_.undefined(layout.address)) return;  // nothing was ever written
    switch (layout.index) {
      case ChunkIndex::kTree:
        read_node(layout.address, 255);
        break;
      case ChunkIndex::kSingle:
        if (chunks_.size() != 1) damaged("has several chunks, but a place for one");
        chunks_[0] =
            StoredChunk{layout.address, layout.single_bytes > 0 ? layout.single_bytes : bytes_,
                        layout.single_mask};
        break;
      case ChunkIndex::kImplicit:
        for (std::size_t i = 0; i < chunks_.size(); ++i)
          chunks_[i] = StoredChunk{layout.address + i * bytes_, bytes_, 0};
        break;
      case ChunkIndex::kFixedArray:
        read_fixed_array(layout.address);
        break;
    }
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      if (chunks_[i]) place(i, out);
    }
  }

 private:
  [[noreturn]] void damaged(const char* what) const {
    file_.bytes().damaged(fmt::format("\"{}\" {}", path_, what));
  }

  // A tree of keys and places; a key is the chunk's size in the file, its mask and its first value.
  void read_node(std::uint64_t address, unsigned most_level) {
    const std::size_t o = file_.offset_bytes(), axes = grid_.size();
    if (++nodes_ > chunks_.size() + 256) damaged("has a table of chunks with too many nodes");
    const std::vector<std::byte> head = file_.at(address, 8 + 2 * o);
    Cursor cursor(file_.bytes(), head);
    cursor.expect("TREE");
    if (cursor.byte() != 1) damaged("has a table of chunks of another kind");
    const unsigned level = cursor.byte();
    if (level > most_level) damaged("has a table of chunks that leads back to itself");
    const std::uint64_t used = cursor.number(2);
    const std::vector<std::byte> entries =
        file_.at(address + head.size(), used * (8 + 8 * (axes + 1) + o));
    Cursor entry(file_.bytes(), entries);
    for (std::uint64_t i = 0; i < used; ++i) {
      StoredChunk chunk;
      chunk.bytes = entry.number(4);
      chunk.mask = static_cast<std::uint32_t>(entry.number(4));
      std::vector<std::uint64_t> first;
      for (std::size_t k = 0; k < axes; ++k) first.push_back(entry.number(8));
      entry.skip(8);
      chunk.address = entry.number(o);
      if (level > 0) {
        read_node(chunk.address, level - 1);
      } else {
        add(first, chunk);
      }
    }
  }

  void add(const std::vector<std::uint64_t>& first, const StoredChunk& chunk) {
    std::uint64_t index = 0;
    for (std::size_t k = 0; k < grid_.size(); ++k) {
      const std::uint64_t each = dataset_.layout.chunk[k];
      // Chunks outside are those of a data set that was made smaller.
      if (first[k] % each != 0) damaged("has a chunk at a place between the others");
      if (first[k] / each >= grid_[k]) return;
      index = index * grid_[k] + first[k] / each;
    }
    auto& slot = chunks_[static_cast<std::size_t>(index)];
    if (slot) damaged("has two chunks at one place");
    slot = chunk;
  }

  void read_fixed_array(std::uint64_t address) {
    const std::size_t o = file_.offset_bytes(), l = file_.length_bytes();
    const std::vector<std::byte> head = file_.at(address, 8 + l + o + 4);
    check_sum(file_.bytes(), head, "a table of chunks");
    Cursor cursor(file_.bytes(), head);
    cursor.expect("FAHD");
    cursor.skip(1);
    const bool filtered = cursor.byte() == 1;
    const std::size_t each = cursor.byte();
    const unsigned page_bits = cursor.byte();
    const std::uint64_t count = cursor.number(l);
    const std::uint64_t data = cursor.number(o);
    const std::size_t size_bytes = filtered ? each - o - 4 : 0;
    if (count != chunks_.size() || page_bits > 24 ||
        (filtered ? each < o + 5 || each > o + 12 : each != o))
      damaged("has a table of chunks that does not fit");
    if (file_.undefined(data)) return;
    const std::size_t page = std::size_t{1} << page_bits;
    const bool paged = chunks_.size() > page;
    const std::size_t pages = paged ? (chunks_.size() - 1) / page + 1 : 0;
    const std::size_t used = 6 + o + (pages + 7) / 8 + (paged ? 0 : chunks_.size() * each) + 4;
    const std::vector<std::byte> block = file_.at(data, used);
    check_sum(file_.bytes(), block, "a table of chunks");
    Cursor entries(file_.bytes(), block);
    entries.expect("FADB");
    entries.skip(2 + o);
    if (!paged) return read_elements(entries, 0, chunks_.size(), size_bytes, filtered);
    const auto made = entries.take_bytes((pages + 7) / 8);
    for (std::size_t p = 0; p < pages; ++p) {
      const std::size_t first = p * page, in_page = std::min(page, chunks_.size() - first);
      if ((static_cast<unsigned>(made[p / 8]) >> (7 - p % 8) & 1) == 0) continue;
      const std::vector<std::byte> bytes =
          file_.at(data + used + p * (page * each + 4), in_page * each + 4);
      check_sum(file_.bytes(), bytes, "a table of chunks");
      Cursor elements(file_.bytes(), bytes);
      read_elements(elements, first, in_page, size_bytes, filtered);
    }
  }

  void read_elements(Cursor& cursor, std::size_t first, std::size_t count, std::size_t size_bytes,
                     bool filtered) {
    for (std::size_t i = 0; i < count; ++i) {
      StoredChunk chunk;
      chunk.address = cursor.number(file_.offset_bytes());
      chunk.bytes = filtered ? cursor.number(size_bytes) : bytes_;
      chunk.mask = filtered ? static_cast<std::uint32_t>(cursor.number(4)) : 0;
      if (!file_.undefined(chunk.address)) chunks_[first + i] = chunk;
    }
  }

  // Copies what of a chunk lies inside the data set.
  void place(std::size_t index, std::span<std::byte> out) const {
    const std::size_t axes = grid_.size(), each = dataset_.type.bytes;
    std::vector<std::uint64_t> first(axes), count(axes);
    bool whole = true;
    std::size_t rest = index;
    for (std::size_t k = axes; k-- > 0;) {
      const std::uint64_t size = dataset_.layout.chunk[k];
      first[k] = rest % grid_[k] * size;
      rest /= static_cast<std::size_t>(grid_[k]);
      count[k] = std::min(size, dataset_.size[k] - first[k]);
      whole = whole && count[k] == size;
    }
    const StoredChunk& stored = *chunks_[index];
    const bool plain = dataset_.filters.empty() || (dataset_.layout.whole_edges && !whole);
    if (plain && stored.bytes != bytes_) damaged("has a chunk of another length than the others");
    std::vector<std::byte> chunk = file_.at(stored.address, stored.bytes);
    if (!plain) {
      chunk = unfiltered(file_.bytes(), path_, std::move(chunk), dataset_.filters, stored.mask,
                         static_cast<std::size_t>(bytes_));
    }
    // Rows along the last axis, counted through the others.
    const auto row = static_cast<std::size_t>(count[axes - 1]) * each;
    std::vector<std::uint64_t> at(axes, 0);
    for (;;) {
      std::uint64_t from = 0, to = 0;
      for (std::size_t k = 0; k < axes; ++k) {
        from = from * dataset_.layout.chunk[k] + at[k];
        to = to * dataset_.size[k] + first[k] + at[k];
      }
      std::memcpy(out.data() + to * each, chunk.data() + from * each, row);
      std::size_t k = axes - 1;
      while (k > 0 && ++at[k - 1] == count[k - 1]) at[--k] = 0;
      if (k == 0) return;
    }
  }

  const File& file_;
  const Dataset& dataset_;
  const std::string& path_;
  std::uint64_t bytes_;                             // of a chunk before it is filtered
  std::vector<std::uint64_t> grid_;                 // chunks along each axis
  std::vector<std::optional<StoredChunk>> chunks_;  // nothing where none was written
  std::size_t nodes_ = 0;
};

void fill_with(const Dataset& dataset, std::span<std::byte> out) {
  const std::size_t each = dataset.fill.size();
  if (each == 0) return;  // they are zero
  for (std::size_t i = 0; i + each <= out.size(); i += each)
    std::memcpy(out.data() + i, dataset.fill.data(), each);
}

}  // namespace

std::size_t value_bytes(const File& file, const Dataset& dataset, const std::string& path,
                        std::size_t most) {
  std::uint64_t bytes = dataset.type.bytes;
  for (const std::uint64_t axis : dataset.size) {
    if (axis == 0 || __builtin_mul_overflow(bytes, axis, &bytes) || bytes > most)
      file.bytes().refuse(fmt::format("\"{}\" is {}; expected 1 to {} bytes of values", path,
                                      fmt::join(dataset.size, " x "), most));
  }
  const Layout& layout = dataset.layout;
  const bool chunked = layout.kind == Layout::Kind::kChunked;
  const std::uint64_t held = layout.kind == Layout::Kind::kCompact ? layout.data.size()
                             : chunked                        ? file.bytes().size * kMostExpansion
                             : file.undefined(layout.address) ? bytes
                                                              : layout.bytes;
  if (chunked ? bytes > held : bytes != held)
    file.bytes().damaged(
        fmt::format("\"{}\" promises {} bytes of values, there is room for {}", path, bytes, held));
  return static_cast<std::size_t>(bytes);
}

void read_values(const File& file, const Dataset& dataset, const std::string& path,
                 std::span<std::byte> out) {
  const Layout& layout = dataset.layout;
  if (layout.kind == Layout::Kind::kCompact) {
    std::copy(layout.data.begin(), layout.data.end(), out.begin());
    return;
  }
  fill_with(dataset, out);
  if (layout.kind == Layout::Kind::kChunked) {
    ChunkReader(file, dataset, path).read(out);
  } else if (!file.undefined(layout.address)) {
    file.read(layout.address, out);
  }
}

}  // namespace fovea::data::hdf5
