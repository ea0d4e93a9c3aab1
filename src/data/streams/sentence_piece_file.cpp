#include "data/streams/sentence_piece_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/shown.h"

namespace fovea::data {
namespace {

// Numbers of fields.
constexpr std::uint64_t kPiece = 1, kNormaliser = 3, kSelfTest = 4,
                        kDenormaliser = 5;                  // of a model
constexpr std::uint64_t kPieceText = 1;                     // of a piece
constexpr std::uint64_t kCharacters = 2, kDummyPrefix = 3;  // of a normaliser

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw FileError(fmt::format("{}: {}; expected a model of SentencePiece", name, why));
}

// A field of a protocol buffer.
struct WireField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;     // of integers
  std::string_view content;    // of texts and messages
  std::string_view all_bytes;  // with its head
};

// The fields of a message, one behind the other.
class WireReader {
 public:
  WireReader(std::string_view message, const std::string& name) : rest_(message), name_(name) {}
  bool done() const { return rest_.empty(); }

  WireField next() {
    const std::string_view begin = rest_;
    const std::uint64_t head = varint();
    WireField field;
    field.number = head >> 3;
    switch (head & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        field.content = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        refuse(name_, fmt::format("a field of the unknown type {}", head & 7));
    }
    field.all_bytes = begin.substr(0, begin.size() - rest_.size());
    return field;
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) refuse(name_, "the file ends inside a field");
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    refuse(name_, "a number of more than 64 bits");
  }

  std::string_view rest_;
  const std::string& name_;
};

// A table: the bytes of a double array, the array (darts-clone's, 32 bits a unit, in blocks of 256
// units), and texts that end in zero bytes, at which its leaves point. The library follows offsets
// without a look at the size.
void check_characters(std::string_view table, const std::string& name) {
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t k = 4; k-- > 0;)
      value = value << 8 | static_cast<unsigned char>(table[at + k]);
    return value;
  };
  constexpr std::size_t kHead = 4, kUnit = 4, kBlock = 256;
  const std::size_t size = table.size() < kHead ? 0 : word(0);
  const bool whole = size > 0 && size % (kUnit * kBlock) == 0 && table.size() > kHead + size &&
                     table.back() == '\0';
  if (!whole) refuse(name, "the table of characters is cut short");
  const std::size_t units = size / kUnit, texts = table.size() - kHead - size;
  for (std::size_t i = 0; i < units; ++i) {
    const std::uint32_t unit = word(kHead + i * kUnit);
    constexpr std::uint32_t kLeaf = std::uint32_t{1} << 31, kLarge = 1U << 9, kHasLeaf = 1U << 8;
    if (i > 0 && (unit & kLeaf) != 0) continue;  // reached only as the leaf of another
    const std::size_t to = i ^ (static_cast<std::size_t>(unit >> 10) << ((unit & kLarge) >> 6));
    const bool inside = (to | (kBlock - 1)) < units &&
                        ((unit & kHasLeaf) == 0 || (word(kHead + to * kUnit) & ~kLeaf) < texts);
    if (!inside) refuse(name, fmt::format("the table of characters: unit {} points outside", i));
  }
}

// What the library builds its table of pieces from without a look: a piece that begins with a zero
// byte ends the program.
void check_piece(std::string_view piece, const std::string& name) {
  constexpr std::size_t kLongest = 8000;
  for (WireReader fields(piece, name); !fields.done();) {
    const WireField field = fields.next();
    if (field.number != kPieceText) continue;
    const std::string_view text = field.content;
    if (text.empty() || text.size() > kLongest || text.find('\0') != std::string_view::npos)
      refuse(name, fmt::format("piece \"{}\" is empty, too long, or has a zero byte", shown(text)));
  }
}

}  // namespace

SentencePieceFile read_sentence_piece_file(std::string_view model, const std::string& name) {
  SentencePieceFile file;
  for (WireReader fields(model, name); !fields.done();) {
    const WireField field = fields.next();
    if (field.number != kSelfTest) file.untested += field.all_bytes;
    if (field.number == kPiece) check_piece(field.content, name);
    if (field.number != kNormaliser && field.number != kDenormaliser) continue;
    for (WireReader inner(field.content, name); !inner.done();) {
      const WireField part = inner.next();
      if (part.number == kCharacters && !part.content.empty()) check_characters(part.content, name);
      if (field.number == kNormaliser && part.number == kDummyPrefix)
        file.dummy_prefix = part.value != 0;
    }
  }
  return file;
}

std::string with_dummy_prefix(const SentencePieceFile& file, bool dummy_prefix) {
  // Of a message that comes twice, the fields of the second one go over those of the first.
  constexpr char kLength = 2, kVarint = 0;
  const std::string inner = {static_cast<char>(kDummyPrefix << 3 | kVarint),
                             static_cast<char>(dummy_prefix)};
  return file.untested + static_cast<char>(kNormaliser << 3 | kLength) +
         static_cast<char>(inner.size()) + inner;
}

}  // namespace fovea::data
