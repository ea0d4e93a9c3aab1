// The JSON header of a safetensors file, parsed without trusting it. Used by safetensors.cpp only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace fovea::safetensors {

/// A stored element type and what it becomes in memory.
struct StoredType {
  std::string_view name;
  std::uint64_t bytes;
  DType dtype;
};

/// nullptr for a type that cannot be read.
const StoredType* find_stored_type(std::string_view name);
/// The names that can be read, for messages: "F64, F32, ...".
std::string stored_type_names();
/// The name a dtype is written under.
std::string_view stored_name(DType dtype);

struct Entry {
  std::string name;
  const StoredType* type = nullptr;
  Shape shape;
  std::uint64_t begin = 0;  // relative to the end of the header
  std::uint64_t end = 0;
};

struct Header {
  std::vector<Entry> entries;  // in order of their data
  std::map<std::string, std::string> metadata;
};

/// `text` is the JSON; `file` is used in messages. Checks everything but the length of the data:
/// syntax, no duplicates, known types, sizes whose product neither overflows nor differs from the
/// offsets, offsets that start at 0 and leave neither gap nor overlap. Throws FileError.
Header parse_header(std::string_view text, const std::string& file);

}  // namespace fovea::safetensors
