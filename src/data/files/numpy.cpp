#include "data/files/numpy.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "data/files/bytes.h"

namespace fovea::data {
namespace {

static_assert(std::endian::native == std::endian::little);

[[noreturn]] void refuse_array(std::string_view name, const std::string& what) {
  throw FileError(fmt::format("{}: {}", name, what));
}

struct NpyHeader {
  std::string type;  // "<f4"
  bool columns_first = false;
  std::vector<std::int64_t> shape;
  std::size_t data = 0;  // first byte of the values
};

// The text after 'key': in the dictionary of a header.
std::string_view after_key(std::string_view text, std::string_view key, std::string_view name) {
  const std::string quoted = fmt::format("'{}':", key);
  const std::size_t at = text.find(quoted);
  if (at == std::string_view::npos)
    refuse_array(name, fmt::format("numpy header has no {}", quoted));
  text.remove_prefix(at + quoted.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

std::vector<std::int64_t> shape_in(std::string_view text, std::string_view name) {
  const std::size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos)
    refuse_array(name, "numpy header has no shape");
  std::vector<std::int64_t> shape;
  const char* at = text.data() + 1;
  const char* const last = text.data() + end;
  while (at < last) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, last, size);
    if (error != std::errc() || size < 1)
      refuse_array(name, "numpy header has a damaged shape, or one of nothing");
    shape.push_back(size);
    at = next;
  }
  return shape;
}

NpyHeader npy_header(Bytes file, std::string_view name) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr std::size_t kVersion = 6, kLength = 8;
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic) || text.size() < kLength + 4)
    refuse_array(name, "is no array of numpy");
  const bool wide = text[kVersion] > 1;
  std::uint32_t length = 0;
  std::memcpy(&length, text.data() + kLength, wide ? 4 : 2);
  NpyHeader header;
  header.data = kLength + (wide ? 4 : 2) + length;
  if (header.data > text.size())
    refuse_array(name, fmt::format("header has {} bytes, file holds {}; the copy or download was "
                                   "cut short",
                                   header.data, text.size()));
  const std::string_view words = text.substr(header.data - length, length);
  const std::string_view type = after_key(words, "descr", name);
  const std::size_t end = type.find('\'', 1);
  if (type.empty() || type.front() != '\'' || end == std::string_view::npos)
    refuse_array(name, "is an array of records; expected numbers");
  header.type = type.substr(1, end - 1);
  header.columns_first = after_key(words, "fortran_order", name).starts_with("True");
  header.shape = shape_in(after_key(words, "shape", name), name);
  return header;
}

template <class T>
void to_floats(const std::byte* from, std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    values[i] = static_cast<float>(value);
  }
}

struct ElementType {
  std::string_view name;
  std::size_t bytes;
  void (*convert)(const std::byte* from, std::vector<float>& values);
};
constexpr ElementType kElementTypes[] = {
    {"<f4", 4, to_floats<float>},        {"<f8", 8, to_floats<double>},
    {"|u1", 1, to_floats<std::uint8_t>}, {"|i1", 1, to_floats<std::int8_t>},
    {"|b1", 1, to_floats<std::uint8_t>}, {"<u2", 2, to_floats<std::uint16_t>},
    {"<i2", 2, to_floats<std::int16_t>}, {"<u4", 4, to_floats<std::uint32_t>},
    {"<i4", 4, to_floats<std::int32_t>}, {"<u8", 8, to_floats<std::uint64_t>},
    {"<i8", 8, to_floats<std::int64_t>}};

// Arrays in Fortran order, first axis fastest, in C order.
std::vector<float> rows_first(const std::vector<float>& values,
                              const std::vector<std::int64_t>& shape) {
  std::vector<float> result;
  result.reserve(values.size());
  std::vector<std::int64_t> at(shape.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t from = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) from = from * shape[axis] + at[axis];
    result.push_back(values[static_cast<std::size_t>(from)]);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return result;
}

struct FreeArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};

std::string_view reason(archive* a) {
  const char* text = archive_error_string(a);
  return text == nullptr ? "damaged" : text;
}

std::vector<std::byte> entry_bytes(archive* a, std::string_view name) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::byte> bytes;
  for (;;) {
    const std::size_t have = bytes.size();
    bytes.resize(have + kPiece);
    const la_ssize_t read = archive_read_data(a, bytes.data() + have, kPiece);
    if (read < 0)
      refuse_array(name, fmt::format("is a damaged archive of numpy (.npz): {}", reason(a)));
    bytes.resize(have + static_cast<std::size_t>(read));
    if (read == 0) return bytes;
    if (bytes.size() > kMaxArrayBytes)
      refuse_array(name, fmt::format("expands to more than {} bytes", kMaxArrayBytes));
  }
}

}  // namespace

NumpyArray decode_npy(Bytes file, std::string_view name) {
  NpyHeader header = npy_header(file, name);
  const auto* type = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                  [&](const ElementType& t) { return t.name == header.type; });
  if (type == std::end(kElementTypes))
    refuse_array(name, fmt::format("is an array of type {}; expected whole or real numbers in "
                                   "little-endian order",
                                   header.type));
  const std::size_t there = (file.size() - header.data) / type->bytes;
  std::size_t count = 1;
  for (const std::int64_t size : header.shape) {
    const auto more = static_cast<std::size_t>(size);
    count = more > 0 && count > there / more ? there + 1 : count * more;  // cannot overflow
  }
  if (count > there)
    refuse_array(name, fmt::format("header promises an array of {}, file holds {} values; the copy "
                                   "or download was cut short",
                                   fmt::join(header.shape, " x "), there));
  NumpyArray array{std::move(header.shape), std::vector<float>(count)};
  type->convert(file.data() + header.data, array.values);
  if (header.columns_first && array.shape.size() > 1)
    array.values = rows_first(array.values, array.shape);
  return array;
}

std::map<std::string, NumpyArray> decode_npz(Bytes file, const std::vector<std::string>& wanted,
                                             std::string_view name) {
  const std::unique_ptr<archive, FreeArchive> a(archive_read_new());
  archive_read_support_format_zip(a.get());
  if (archive_read_open_memory(a.get(), file.data(), file.size()) != ARCHIVE_OK)
    refuse_array(name, fmt::format("is no archive of numpy (.npz): {}", reason(a.get())));
  std::map<std::string, NumpyArray> arrays;
  archive_entry* entry = nullptr;
  int status = ARCHIVE_OK;
  while ((status = archive_read_next_header(a.get(), &entry)) == ARCHIVE_OK) {
    const char* path = archive_entry_pathname(entry);
    std::string key = path == nullptr ? "" : path;
    if (key.ends_with(".npy")) key.erase(key.size() - 4);
    if (std::find(wanted.begin(), wanted.end(), key) == wanted.end()) continue;
    arrays[key] = decode_npy(entry_bytes(a.get(), name), fmt::format("{}: {}", name, key));
  }
  if (status != ARCHIVE_EOF)
    refuse_array(name, fmt::format("is a damaged archive of numpy (.npz): {}", reason(a.get())));
  for (const std::string& key : wanted)
    if (!arrays.contains(key))
      refuse_array(name,
                   fmt::format("holds no array \"{}\"; expected {}", key, fmt::join(wanted, ", ")));
  return arrays;
}

}  // namespace fovea::data
