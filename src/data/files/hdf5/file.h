// The description of a data set in an HDF5 file: size, type, layout, filters. This reader is our
// own, since the library of the HDF Group crashes or hangs on damaged files and opens other files
// that a file names. Format: "HDF5 File Format Specification Version 3.0".
//
// Every number of the file is checked before it is used: addresses against its length, counts
// against what there can be. Nothing outside the file is ever opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::data::hdf5 {

/// The bytes of a file, in memory or on disk.
struct Bytes {
  std::string name;  // for messages
  std::uint64_t size = 0;
  /// Fills `to` with the bytes from `offset` on; all of them lie inside the file.
  std::function<void(std::uint64_t offset, std::span<std::byte> to)> read;

  /// Throws FileError "<name>: <what>".
  [[noreturn]] void refuse(const std::string& what) const;
  /// For content that no program writes: "... is damaged, or the copy was cut short: <what>".
  [[noreturn]] void damaged(const std::string& what) const;
  /// A piece of the file; damaged() where it exceeds the file.
  std::vector<std::byte> piece(std::uint64_t offset, std::uint64_t count) const;
};

/// Reads numbers one after another; damaged() at the end.
class Cursor {
 public:
  Cursor(const Bytes& file, std::span<const std::byte> data) : file_(&file), data_(data) {}
  /// `bytes` from 1 to 8, the lowest first.
  std::uint64_t number(std::size_t bytes);
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::span<const std::byte> take_bytes(std::uint64_t bytes);
  void skip(std::uint64_t bytes) { take_bytes(bytes); }
  std::size_t left() const { return data_.size(); }
  std::string text(std::uint64_t bytes);
  /// damaged() unless these letters come next.
  void expect(std::string_view signature);
  /// Throws as Bytes::damaged.
  [[noreturn]] void damaged(const std::string& what) const { file_->damaged(what); }

 private:
  const Bytes* file_;
  std::span<const std::byte> data_;
};

/// How one value is stored: whole numbers and IEEE 754 numbers.
struct Number {
  bool real = false;
  bool is_signed = false;
  bool big_endian = false;
  std::size_t bytes = 0;
};

struct Filter {
  std::uint64_t id = 0;
  std::vector<std::uint32_t> values;
};

/// The kind of table that locates chunks.
enum class ChunkIndex { kTree, kSingle, kImplicit, kFixedArray };

struct Layout {
  enum class Kind { kCompact, kContiguous, kChunked };
  Kind kind = Kind::kCompact;
  std::vector<std::byte> data;       // compact: the values
  std::uint64_t address = 0;         // of the values, or of the table of chunks
  std::uint64_t bytes = 0;           // contiguous
  std::vector<std::uint64_t> chunk;  // size of a chunk
  ChunkIndex index = ChunkIndex::kTree;
  bool whole_edges = false;        // chunks at the edges are not filtered
  std::uint64_t single_bytes = 0;  // of a single chunk after filtering
  std::uint32_t single_mask = 0;
};

struct Dataset {
  std::vector<std::uint64_t> size;
  Number type;
  Layout layout;
  std::vector<Filter> filters;  // in the order they were applied
  std::vector<std::byte> fill;  // one value; empty: zero
};

/// An HDF5 file whose superblock has been read.
class File {
 public:
  explicit File(Bytes bytes);
  /// The data set at a path such as "image" or "group/image". Throws FileError for a file that is
  /// damaged, has no such data set, or keeps it in another file or in an unsupported form.
  Dataset dataset(const std::string& path) const;

  const Bytes& bytes() const { return bytes_; }
  std::size_t offset_bytes() const { return offset_bytes_; }
  std::size_t length_bytes() const { return length_bytes_; }
  /// True for the undefined address.
  bool undefined(std::uint64_t address) const;
  /// A piece at an address, which counts from the beginning of the superblock.
  std::vector<std::byte> at(std::uint64_t address, std::uint64_t count) const;
  /// Fills `out` with the bytes from an address on.
  void read(std::uint64_t address, std::span<std::byte> out) const;
  /// Bytes from an address to the end of the file.
  std::uint64_t bytes_from(std::uint64_t address) const;

 private:
  Bytes bytes_;
  std::uint64_t base_ = 0;
  std::uint64_t root_ = 0;
  std::size_t offset_bytes_ = 8;
  std::size_t length_bytes_ = 8;
};

/// A message of an object header.
struct Message {
  std::uint64_t type = 0;
  std::uint64_t flags = 0;
  std::vector<std::byte> data;
};
/// All messages of the object at an address.
std::vector<Message> read_messages(const File& file, std::uint64_t address);

/// Bob Jenkins' lookup3 checksum, which newer structures end with.
std::uint32_t checksum(std::span<const std::byte> bytes);
/// damaged() unless the last four bytes are the checksum of the others.
void check_sum(const Bytes& file, std::span<const std::byte> block, const char* what);

}  // namespace fovea::data::hdf5
