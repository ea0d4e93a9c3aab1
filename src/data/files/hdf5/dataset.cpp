// Reads the description of a data set from the messages of its object header.
#include <fmt/format.h>

#include <algorithm>

#include "data/files/hdf5/file.h"
#include "data/files/hdf5/links.h"

namespace fovea::data::hdf5 {
namespace {

constexpr std::uint64_t kSpace = 0x01, kType = 0x03, kOldFill = 0x04, kFill = 0x05,
                        kExternalFiles = 0x07, kLayout = 0x08, kFilters = 0x0b;
constexpr unsigned kMostAxes = 32;

class DatasetReader {
 public:
  DatasetReader(const File& file, std::uint64_t address, const std::string& path)
      : file_(file), path_(path), messages_(read_messages(file, address)) {}

  Dataset read() {
    if (find(kExternalFiles) != nullptr)
      refuse("keeps its values in other files, which are not read; copy it with h5repack or h5py");
    result_.size = size(need(kSpace, "size"));
    result_.type = type(need(kType, "type"));
    layout(need(kLayout, "layout"));
    if (const Message* message = find(kFilters)) filters(*message);
    if (const Message* message = find(kFill)) {
      fill(*message);
    } else if (const Message* old = find(kOldFill)) {
      Cursor cursor(file_.bytes(), old->data);
      take_fill(cursor);
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    file_.bytes().refuse(fmt::format("\"{}\" {}", path_, what));
  }
  [[noreturn]] void damaged(const char* what) const {
    file_.bytes().damaged(fmt::format("\"{}\" {}", path_, what));
  }

  const Message* find(std::uint64_t kind) const {
    const auto found = std::find_if(messages_.begin(), messages_.end(),
                                    [&](const Message& message) { return message.type == kind; });
    return found == messages_.end() ? nullptr : &*found;
  }

  const Message& need(std::uint64_t kind, const char* what) const {
    const Message* message = find(kind);
    if (message == nullptr)
      file_.bytes().refuse(fmt::format("\"{}\" is no data set; it has no {}", path_, what));
    constexpr std::uint64_t kShared = 2;
    if ((message->flags & kShared) != 0)
      refuse(
          fmt::format("has a {} that it shares with others, which is not read; copy it with "
                      "h5py",
                      what));
    return *message;
  }

  Cursor cursor_of(const Message& message) const { return {file_.bytes(), message.data}; }

  std::vector<std::uint64_t> size(const Message& message) const {
    Cursor cursor = cursor_of(message);
    const unsigned version = cursor.byte();
    if (version != 1 && version != 2) damaged("has a size of an unknown version");
    const unsigned axes = cursor.byte();
    if (axes > kMostAxes) damaged("has too many axes");
    cursor.skip(1);
    const unsigned kind = version == 2 ? cursor.byte() : 1;
    if (kind == 2) refuse("is empty");
    if (version == 1) cursor.skip(5);
    std::vector<std::uint64_t> axis;
    for (unsigned i = 0; i < axes; ++i) axis.push_back(cursor.number(file_.length_bytes()));
    return axis;
  }

  Number type(const Message& message) const {
    constexpr unsigned kInteger = 0, kReal = 1;
    Cursor cursor = cursor_of(message);
    const unsigned kind = cursor.byte() & 0x0f;
    const std::uint64_t bits = cursor.number(3);
    Number number;
    number.bytes = cursor.number(4);
    if (kind != kInteger && kind != kReal) refuse("holds no numbers");
    number.real = kind == kReal;
    number.big_endian = (bits & 1) != 0;
    number.is_signed = !number.real && (bits & 8) != 0;
    const std::uint64_t offset = cursor.number(2), precision = cursor.number(2);
    bool good = offset == 0 && precision == 8 * number.bytes;
    if (number.real) {
      const std::uint64_t exponent_at = cursor.number(1), exponent = cursor.number(1),
                          mantissa_at = cursor.number(1), mantissa = cursor.number(1),
                          bias = cursor.number(4), sign_at = (bits >> 8) & 0xff;
      const bool ieee = (number.bytes == 2 && exponent == 5 && bias == 15) ||
                        (number.bytes == 4 && exponent == 8 && bias == 127) ||
                        (number.bytes == 8 && exponent == 11 && bias == 1023);
      good = good && ieee && mantissa_at == 0 && mantissa + exponent + 1 == precision &&
             exponent_at == mantissa && sign_at + 1 == precision && (bits & 0x70) == 0x20;
    } else {
      good = good &&
             (number.bytes == 1 || number.bytes == 2 || number.bytes == 4 || number.bytes == 8);
    }
    if (!good)
      refuse(
          "holds numbers of an unusual form; whole numbers of 8 to 64 bits and IEEE numbers of "
          "16 to 64 bits are read");
    return number;
  }

  void layout(const Message& message) {
    constexpr unsigned kCompact = 0, kContiguous = 1, kChunked = 2, kVirtual = 3;
    Cursor cursor = cursor_of(message);
    const unsigned version = cursor.byte();
    if (version == 1 || version == 2) return old_layout(cursor);
    if (version < 3 || version > 5)
      refuse(fmt::format("has a layout of version {}; versions 1 to 5 are read", version));
    const unsigned kind = cursor.byte();
    if (kind == kVirtual)
      refuse(
          "is a virtual data set, made of parts of other files, which are not read; copy it "
          "with h5repack or h5py");
    if (kind > kChunked) damaged("has an unknown layout");
    if (kind == kCompact) return compact(cursor, cursor.number(2));
    Layout& out = result_.layout;
    if (kind == kContiguous) {
      out.kind = Layout::Kind::kContiguous;
      out.address = cursor.number(file_.offset_bytes());
      out.bytes = cursor.number(file_.length_bytes());
      return;
    }
    out.kind = Layout::Kind::kChunked;
    if (version >= 4) return new_chunks(cursor);
    const unsigned axes = cursor.byte();
    out.address = cursor.number(file_.offset_bytes());
    chunk_size(cursor, axes, 4);
  }

  void compact(Cursor& cursor, std::uint64_t bytes) {
    const auto data = cursor.take_bytes(bytes);
    result_.layout.kind = Layout::Kind::kCompact;
    result_.layout.data.assign(data.begin(), data.end());
  }

  void old_layout(Cursor& cursor) {
    const unsigned axes = cursor.byte();
    const unsigned kind = cursor.byte();
    cursor.skip(5);
    if (kind > 2) damaged("has an unknown layout");
    if (kind == 0) {
      cursor.skip(4 * axes);
      return compact(cursor, cursor.number(4));
    }
    Layout& out = result_.layout;
    out.address = cursor.number(file_.offset_bytes());
    out.kind = kind == 2 ? Layout::Kind::kChunked : Layout::Kind::kContiguous;
    if (kind == 2) return chunk_size(cursor, axes, 4);
    out.bytes = result_.type.bytes;
    for (const std::uint64_t axis : result_.size) {
      if (__builtin_mul_overflow(out.bytes, axis, &out.bytes)) damaged("is far too large");
    }
  }

  // The size of a chunk, then that of a value.
  void chunk_size(Cursor& cursor, unsigned axes, std::size_t each) {
    if (axes != result_.size.size() + 1) damaged("has chunks of other axes");
    for (unsigned i = 0; i + 1 < axes; ++i) {
      result_.layout.chunk.push_back(cursor.number(each));
      if (result_.layout.chunk.back() == 0) damaged("has chunks of nothing");
    }
    if (cursor.number(each) != result_.type.bytes) damaged("has chunks of another type");
  }

  void new_chunks(Cursor& cursor) {
    constexpr unsigned kSingle = 1, kImplicit = 2, kFixedArray = 3;
    Layout& out = result_.layout;
    const unsigned flags = cursor.byte();
    const unsigned axes = cursor.byte();
    const std::size_t each = cursor.byte();
    if (each < 1 || each > 8) damaged("has chunks of an unknown size");
    chunk_size(cursor, axes, each);
    out.whole_edges = (flags & 1) != 0;
    const unsigned kind = cursor.byte();
    if (kind == kSingle) {
      out.index = ChunkIndex::kSingle;
      if ((flags & 2) != 0) {
        out.single_bytes = cursor.number(file_.length_bytes());
        out.single_mask = static_cast<std::uint32_t>(cursor.number(4));
      }
    } else if (kind == kImplicit) {
      out.index = ChunkIndex::kImplicit;
    } else if (kind == kFixedArray) {
      out.index = ChunkIndex::kFixedArray;
      cursor.skip(1);
    } else {
      refuse(
          "can grow, and keeps the places of its chunks in a form that is not read; write it "
          "with h5py's default libver, or without maxshape");
    }
    out.address = cursor.number(file_.offset_bytes());
  }

  void filters(const Message& message) {
    constexpr std::uint64_t kNamed = 256;
    Cursor cursor = cursor_of(message);
    const unsigned version = cursor.byte();
    if (version != 1 && version != 2) damaged("has filters of an unknown version");
    const unsigned count = cursor.byte();
    if (version == 1) cursor.skip(6);
    for (unsigned i = 0; i < count; ++i) {
      Filter filter;
      filter.id = cursor.number(2);
      const std::uint64_t name = version == 1 || filter.id >= kNamed ? cursor.number(2) : 0;
      cursor.skip(2);
      const std::uint64_t values = cursor.number(2);
      cursor.skip(version == 1 ? (name + 7) / 8 * 8 : name);
      for (std::uint64_t k = 0; k < values; ++k)
        filter.values.push_back(static_cast<std::uint32_t>(cursor.number(4)));
      if (version == 1 && values % 2 == 1) cursor.skip(4);
      result_.filters.push_back(std::move(filter));
    }
  }

  void fill(const Message& message) {
    Cursor cursor = cursor_of(message);
    const unsigned version = cursor.byte();
    bool given = true;
    if (version == 3) {
      given = (cursor.byte() & 0x20) != 0;
    } else {
      cursor.skip(2);
      given = cursor.byte() != 0 || version == 1;
    }
    if (given) take_fill(cursor);
  }

  void take_fill(Cursor& cursor) {
    const std::uint64_t bytes = cursor.number(4);
    if (bytes == 0 || bytes >= std::uint64_t{1} << 31) return;  // none was chosen
    if (bytes != result_.type.bytes) damaged("has a fill value of another type");
    const auto value = cursor.take_bytes(bytes);
    result_.fill.assign(value.begin(), value.end());
  }

  const File& file_;
  const std::string& path_;
  std::vector<Message> messages_;
  Dataset result_;
};

}  // namespace

Dataset File::dataset(const std::string& path) const {
  return DatasetReader(*this, find_object(*this, root_, path), path).read();
}

}  // namespace fovea::data::hdf5
