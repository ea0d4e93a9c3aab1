// The frame of an HDF5 file: superblock, object headers with their messages, checksums.
#include "data/files/hdf5/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"

namespace fovea::data::hdf5 {
namespace {

constexpr std::string_view kFileSignature = "\x89HDF\r\n\x1a\n";
constexpr std::uint64_t kMostHeaderBytes = std::uint64_t{1} << 20;  // of one object
constexpr std::size_t kMostBlocks = 256;                            // of one object header
constexpr std::size_t kMostMessages = 10000;
constexpr std::uint64_t kContinuation = 0x10;

// Blocks of messages still to be read.
struct HeaderBlock {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

class HeaderReader {
 public:
  HeaderReader(const File& file, std::uint64_t address) : file_(file) {
    const std::vector<std::byte> begin =
        file.at(address, std::min<std::uint64_t>(16, file.bytes_from(address)));
    Cursor cursor(file.bytes(), begin);
    if (begin.size() >= 4 && begin[0] == std::byte{'O'} && begin[1] == std::byte{'H'}) {
      read_new(address);
    } else {
      read_old(address, cursor);
    }
    for (std::size_t i = 0; i < more_.size(); ++i) {
      if (i == kMostBlocks) file.bytes().damaged("an object header goes on in too many blocks");
      const HeaderBlock next = more_[i];
      const std::vector<std::byte> block = piece(next.address, next.bytes);
      if (is_new_) {
        read_new_block(block, "OCHK", 0);
      } else {
        read_old_messages(Cursor(file.bytes(), block));
      }
    }
  }
  std::vector<Message> take_messages() { return std::move(messages_); }

 private:
  std::vector<std::byte> piece(std::uint64_t address, std::uint64_t bytes) const {
    if (bytes > kMostHeaderBytes) file_.bytes().damaged("an object header is far too long");
    return file_.at(address, bytes);
  }

  void read_old(std::uint64_t address, Cursor cursor) {
    if (cursor.byte() != 1) file_.bytes().damaged("an object header has an unknown version");
    cursor.skip(1 + 2 + 4);  // reserved, number of messages, references
    const std::uint64_t bytes = cursor.number(4);
    const std::vector<std::byte> block = piece(address + 16, bytes);
    read_old_messages(Cursor(file_.bytes(), block));
  }

  void read_old_messages(Cursor cursor) {
    while (cursor.left() >= 8) {
      Message message;
      message.type = cursor.number(2);
      const std::uint64_t bytes = cursor.number(2);
      message.flags = cursor.number(1);
      cursor.skip(3);
      add(std::move(message), cursor.take_bytes(bytes));
    }
  }

  void read_new(std::uint64_t address) {
    is_new_ = true;
    const std::vector<std::byte> begin =
        file_.at(address, std::min<std::uint64_t>(64, file_.bytes_from(address)));
    Cursor cursor(file_.bytes(), begin);
    cursor.expect("OHDR");
    if (cursor.byte() != 2) file_.bytes().damaged("an object header has an unknown version");
    flags_ = cursor.byte();
    if ((flags_ & 0x20) != 0) cursor.skip(16);  // times
    if ((flags_ & 0x10) != 0) cursor.skip(4);   // when attributes change their form
    const std::uint64_t bytes = cursor.number(std::size_t{1} << (flags_ & 3));
    const std::uint64_t head = begin.size() - cursor.left();
    if (bytes > kMostHeaderBytes) file_.bytes().damaged("an object header is far too long");
    read_new_block(piece(address, head + bytes + 4), "", head);
  }

  void read_new_block(const std::vector<std::byte>& block, std::string_view signature,
                      std::uint64_t head) {
    check_sum(file_.bytes(), block, "an object header");
    Cursor cursor(file_.bytes(), std::span(block).first(block.size() - 4));
    cursor.expect(signature);
    cursor.skip(head);
    const std::size_t order = (flags_ & 0x04) != 0 ? 2 : 0;
    while (cursor.left() >= 4 + order) {
      Message message;
      message.type = cursor.number(1);
      const std::uint64_t bytes = cursor.number(2);
      message.flags = cursor.number(1);
      cursor.skip(order);
      add(std::move(message), cursor.take_bytes(bytes));
    }
  }

  void add(Message message, std::span<const std::byte> data) {
    if (messages_.size() == kMostMessages) file_.bytes().damaged("an object has too many messages");
    message.data.assign(data.begin(), data.end());
    if (message.type == kContinuation) {
      Cursor cursor(file_.bytes(), message.data);
      HeaderBlock next;
      next.address = cursor.number(file_.offset_bytes());
      next.bytes = cursor.number(file_.length_bytes());
      more_.push_back(next);
    }
    messages_.push_back(std::move(message));
  }

  const File& file_;
  std::vector<Message> messages_;
  std::vector<HeaderBlock> more_;
  bool is_new_ = false;
  unsigned flags_ = 0;
};

std::uint64_t find_superblock(const Bytes& bytes) {
  // A user block of 512 bytes times a power of two may precede it.
  for (std::uint64_t at = 0; at + 16 <= bytes.size; at = at == 0 ? 512 : 2 * at) {
    const std::vector<std::byte> begin = bytes.piece(at, kFileSignature.size());
    const bool same =
        std::equal(begin.begin(), begin.end(), kFileSignature.begin(),
                   [](std::byte a, char b) { return a == static_cast<std::byte>(b); });
    if (same) return at;
  }
  bytes.refuse("is no HDF5 file, or its copy or download was cut short");
}

}  // namespace

void Bytes::refuse(const std::string& what) const {
  throw FileError(fmt::format("{}: {}", name, what));
}

void Bytes::damaged(const std::string& what) const {
  refuse(fmt::format("is damaged, or its copy or download was cut short: {}", what));
}

std::vector<std::byte> Bytes::piece(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size || count > size - offset)
    damaged(fmt::format("it points to {} bytes from byte {} on, the file holds {}", count, offset,
                        size));
  std::vector<std::byte> data(static_cast<std::size_t>(count));
  read(offset, data);
  return data;
}

std::uint64_t Cursor::number(std::size_t bytes) {
  const std::span<const std::byte> data = take_bytes(bytes);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(data[i]) << (8 * i);
  return value;
}

std::span<const std::byte> Cursor::take_bytes(std::uint64_t bytes) {
  if (bytes > data_.size()) damaged("a structure ends early");
  const auto count = static_cast<std::size_t>(bytes);
  const std::span<const std::byte> taken = data_.first(count);
  data_ = data_.subspan(count);
  return taken;
}

std::string Cursor::text(std::uint64_t bytes) {
  const std::span<const std::byte> taken = take_bytes(bytes);
  return {reinterpret_cast<const char*>(taken.data()), taken.size()};
}

void Cursor::expect(std::string_view signature) {
  if (text(signature.size()) != signature)
    damaged(fmt::format("there is no {} where there should be one", signature));
}

File::File(Bytes bytes) : bytes_(std::move(bytes)) {
  base_ = find_superblock(bytes_);
  const std::vector<std::byte> block =
      bytes_.piece(base_, std::min<std::uint64_t>(128, bytes_.size - base_));
  Cursor cursor(bytes_, block);
  cursor.skip(kFileSignature.size());
  const unsigned version = cursor.byte();
  if (version > 3)
    bytes_.refuse(fmt::format("has a superblock of version {}; versions 0 to 3 are read", version));
  if (version < 2) cursor.skip(4);
  offset_bytes_ = cursor.byte();
  length_bytes_ = cursor.byte();
  const auto good = [](std::size_t n) { return n == 2 || n == 4 || n == 8; };
  if (!good(offset_bytes_) || !good(length_bytes_))
    bytes_.damaged(
        fmt::format("addresses of {} bytes and lengths of {}", offset_bytes_, length_bytes_));
  cursor.skip(1);  // reserved, or flags
  if (version < 2) cursor.skip(version == 0 ? 8 : 12);
  cursor.skip(2 * offset_bytes_);  // base; free space, or the extension
  const std::uint64_t end = cursor.number(offset_bytes_);
  // Truncated copies lack the end of the file.
  if (end > bytes_.size)
    bytes_.damaged(fmt::format("it should hold {} bytes and holds {}", end, bytes_.size));
  if (version < 2) {
    if (!undefined(cursor.number(offset_bytes_)))
      bytes_.refuse("is one of several files that belong together, which are not read");
    cursor.skip(offset_bytes_);  // name of the root
    root_ = cursor.number(offset_bytes_);
  } else {
    root_ = cursor.number(offset_bytes_);
    const std::size_t used = block.size() - cursor.left();
    check_sum(bytes_, bytes_.piece(base_, used + 4), "the superblock");
  }
}

bool File::undefined(std::uint64_t address) const {
  return address == ~std::uint64_t{0} >> (64 - 8 * offset_bytes_);
}

std::uint64_t File::bytes_from(std::uint64_t address) const {
  if (address > bytes_.size - base_) bytes_.damaged("an address lies behind the end of the file");
  return bytes_.size - base_ - address;
}

std::vector<std::byte> File::at(std::uint64_t address, std::uint64_t count) const {
  bytes_from(address);
  return bytes_.piece(base_ + address, count);
}

void File::read(std::uint64_t address, std::span<std::byte> out) const {
  if (out.size() > bytes_from(address)) bytes_.damaged("values lie behind the end of the file");
  bytes_.read(base_ + address, out);
}

std::vector<Message> read_messages(const File& file, std::uint64_t address) {
  return HeaderReader(file, address).take_messages();
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
  std::uint32_t a = 0xdeadbeefu + static_cast<std::uint32_t>(bytes.size());
  std::uint32_t b = a, c = a;
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4 && at + i < bytes.size(); ++i)
      value |= static_cast<std::uint32_t>(bytes[at + i]) << (8 * i);
    return value;
  };
  std::size_t at = 0;
  for (; bytes.size() - at > 12; at += 12) {
    a += word(at), b += word(at + 4), c += word(at + 8);
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  if (at == bytes.size()) return c;
  a += word(at), b += word(at + 4), c += word(at + 8);
  c ^= b, c -= std::rotl(b, 14);
  a ^= c, a -= std::rotl(c, 11);
  b ^= a, b -= std::rotl(a, 25);
  c ^= b, c -= std::rotl(b, 16);
  a ^= c, a -= std::rotl(c, 4);
  b ^= a, b -= std::rotl(a, 14);
  c ^= b, c -= std::rotl(b, 24);
  return c;
}

void check_sum(const Bytes& file, std::span<const std::byte> block, const char* what) {
  if (block.size() < 4) file.damaged(fmt::format("{} ends early", what));
  const std::uint64_t noted = Cursor(file, block.last(4)).number(4);
  if (noted != checksum(block.first(block.size() - 4)))
    file.damaged(fmt::format("{} differs from its checksum", what));
}

}  // namespace fovea::data::hdf5
