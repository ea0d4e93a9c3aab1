#include "tensor/safetensors_header.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/shown.h"

namespace fovea::safetensors {
namespace {

using Json = nlohmann::json;

// The first entry of a dtype is the one it is written as.
constexpr std::array<StoredType, 11> kTypes = {{{"F64", 8, DType::kFloat64},
                                                {"F32", 4, DType::kFloat32},
                                                {"F16", 2, DType::kFloat32},
                                                {"BF16", 2, DType::kBFloat16},
                                                {"I64", 8, DType::kInt64},
                                                {"U32", 4, DType::kInt64},
                                                {"I32", 4, DType::kInt32},
                                                {"I16", 2, DType::kInt32},
                                                {"U16", 2, DType::kInt32},
                                                {"I8", 1, DType::kInt32},
                                                {"U8", 1, DType::kUint8}}};
// Read only: uint8 is written as U8.
constexpr StoredType kBool{"BOOL", 1, DType::kUint8};

// Walks the JSON once. The DOM would keep the last of two equal keys without a word, and would cost
// memory for whatever a hostile header contains.
class Reader final : public Json::json_sax_t {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Header take() { return std::move(header_); }

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(Json::number_integer_t value) override {
    return refuse(fmt::format("the negative number {}", value));
  }
  bool number_float(Json::number_float_t, const std::string& text) override {
    return refuse(fmt::format("the number {}", shown(text)));
  }
  bool binary(Json::binary_t&) override { return refuse("binary data"); }

  bool number_unsigned(Json::number_unsigned_t value) override {
    if (place_ != Place::kArray) return refuse(fmt::format("the number {}", value));
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value > kMax)
      fail(fmt::format("\"{}\" of \"{}\" has the number {}, too large", shown(key_), shown(name_),
                       value));
    numbers_.push_back(value);
    const std::size_t most = key_ == "shape" ? std::size_t{Shape::kMaxRank} : std::size_t{2};
    if (numbers_.size() > most) {
      fail(fmt::format("\"{}\" of \"{}\" has more than {} numbers", shown(key_), shown(name_),
                       most));
    }
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata[key_] = value;
    } else if (place_ == Place::kEntry && key_ == "dtype") {
      entry_.type = find_stored_type(value);
      if (entry_.type == nullptr) {
        fail(fmt::format("\"{}\" has dtype \"{}\", expected one of {}", shown(name_), shown(value),
                         stored_type_names()));
      }
    } else {
      return refuse(fmt::format("the string \"{}\"", shown(value)));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::kOutside:
        place_ = Place::kRoot;
        return true;
      case Place::kRoot:
        keys_.clear();
        entry_ = Entry{name_, nullptr, {}, 0, 0};
        place_ = name_ == "__metadata__" ? Place::kMetadata : Place::kEntry;
        return true;
      default:
        return refuse("an object");
    }
  }

  bool key(std::string& value) override {
    if (place_ == Place::kRoot) {
      constexpr std::size_t kLongest = 1000;
      name_ = value;
      if (name_.size() > kLongest)
        fail(fmt::format("\"{}\" is no name of a tensor; at most {} bytes expected", shown(name_),
                         kLongest));
      if (!names_.insert(value).second) fail(fmt::format("\"{}\" is given twice", shown(value)));
      return true;
    }
    key_ = value;
    if (!keys_.insert(value).second) {
      fail(fmt::format("\"{}\" of \"{}\" is given twice", shown(value), shown(name_)));
    }
    if (place_ == Place::kEntry && value != "dtype" && value != "shape" &&
        value != "data_offsets") {
      fail(fmt::format("\"{}\" has the unknown key \"{}\", expected dtype, shape, data_offsets",
                       shown(name_), shown(value)));
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kEntry) {
      for (const char* needed : {"dtype", "shape", "data_offsets"}) {
        if (!keys_.contains(needed))
          fail(fmt::format("\"{}\" has no \"{}\"", shown(name_), needed));
      }
      header_.entries.push_back(entry_);
    }
    place_ = place_ == Place::kRoot ? Place::kOutside : Place::kRoot;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kEntry || key_ == "dtype") return refuse("an array");
    place_ = Place::kArray;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    place_ = Place::kEntry;
    if (key_ == "shape") {
      for (const std::uint64_t size : numbers_)
        entry_.shape.push_back(static_cast<std::int64_t>(size));
      return true;
    }
    if (numbers_.size() != 2) {
      fail(fmt::format("\"data_offsets\" of \"{}\" has {} numbers, expected 2", shown(name_),
                       numbers_.size()));
    }
    entry_.begin = numbers_[0];
    entry_.end = numbers_[1];
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    fail(fmt::format("not valid JSON at byte {} of the header", position));
  }

 private:
  enum class Place { kOutside, kRoot, kEntry, kMetadata, kArray };

  [[noreturn]] void fail(const std::string& what) const {
    throw FileError(fmt::format("{}: damaged header: {}", file_, what));
  }

  bool refuse(const std::string& given) const {
    switch (place_) {
      case Place::kOutside:
        fail(fmt::format("it is {}, expected an object", given));
      case Place::kRoot:
        fail(fmt::format("\"{}\" is {}, expected an object", shown(name_), given));
      case Place::kMetadata:
        fail(fmt::format("__metadata__ \"{}\" is {}, expected a string", shown(key_), given));
      case Place::kArray:
        fail(fmt::format("\"{}\" of \"{}\" contains {}, expected integers >= 0", shown(key_),
                         shown(name_), given));
      case Place::kEntry:
        break;
    }
    fail(fmt::format("\"{}\" of \"{}\" is {}, expected {}", shown(key_), shown(name_), given,
                     key_ == "dtype" ? "a string" : "an array of integers"));
  }

  const std::string& file_;
  Header header_;
  Place place_ = Place::kOutside;
  std::string name_;  // tensor, or "__metadata__"
  std::string key_;   // inside it
  std::set<std::string> names_;
  std::set<std::string> keys_;
  Entry entry_;
  std::vector<std::uint64_t> numbers_;
};

// Bytes of an entry by its shape.
std::uint64_t size_by_shape(const Entry& entry, const std::string& file) {
  std::uint64_t bytes = entry.type->bytes;
  bool none = false;
  for (const std::int64_t size : entry.shape) {
    none = none || size == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(1, size));
    FOVEA_CHECK(!__builtin_mul_overflow(bytes, factor, &bytes) &&
                    bytes <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
                FileError,
                fmt::format("{}: damaged header: shape {} of \"{}\" has too many elements", file,
                            to_string(entry.shape), shown(entry.name)));
  }
  return none ? 0 : bytes;
}

void check_layout(const std::vector<Entry>& entries, const std::string& file) {
  std::uint64_t expected = 0;
  for (const Entry& entry : entries) {
    const auto complain = [&](const std::string& what) {
      throw FileError(fmt::format("{}: damaged header: {}", file, what));
    };
    if (entry.end < entry.begin) {
      complain(fmt::format("\"{}\" ends at byte {} before it begins at {}", shown(entry.name),
                           entry.end, entry.begin));
    }
    const std::uint64_t bytes = size_by_shape(entry, file);
    if (entry.end - entry.begin != bytes) {
      complain(fmt::format("\"{}\" is {} {}, which takes {} bytes, but its data_offsets hold {}",
                           shown(entry.name), entry.type->name, to_string(entry.shape), bytes,
                           entry.end - entry.begin));
    }
    if (entry.begin != expected) {
      complain(
          fmt::format("data of \"{}\" begins at byte {}, expected {}; tensors may neither "
                      "overlap nor leave gaps",
                      shown(entry.name), entry.begin, expected));
    }
    expected = entry.end;
  }
}

}  // namespace

const StoredType* find_stored_type(std::string_view name) {
  if (name == kBool.name) return &kBool;
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const StoredType& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

std::string stored_type_names() {
  std::string names;
  for (const StoredType& type : kTypes) names += std::string(type.name) + ", ";
  return names + std::string(kBool.name);
}

std::string_view stored_name(DType dtype) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const StoredType& type) {
    return type.dtype == dtype && type.bytes == static_cast<std::uint64_t>(size_of(dtype));
  });
  return found->name;
}

Header parse_header(std::string_view text, const std::string& file) {
  Reader reader(file);
  Json::sax_parse(text.begin(), text.end(), &reader);
  Header header = reader.take();
  std::sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_layout(header.entries, file);
  return header;
}

}  // namespace fovea::safetensors
