#include "tensor/dtype.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace fovea {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<Entry, 6> kEntries = {{{DType::kFloat32, "float32", 4},
                                            {DType::kFloat64, "float64", 8},
                                            {DType::kBFloat16, "bfloat16", 2},
                                            {DType::kInt64, "int64", 8},
                                            {DType::kInt32, "int32", 4},
                                            {DType::kUint8, "uint8", 1}}};

}  // namespace

std::int64_t size_of(DType dtype) { return kEntries[static_cast<std::size_t>(dtype)].bytes; }

std::string_view name_of(DType dtype) { return kEntries[static_cast<std::size_t>(dtype)].name; }

DType dtype_from_name(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.dtype;
  }
  throw ConfigError(fmt::format(
      "dtype: no dtype called \"{}\"; known: float32, float64, bfloat16, int64, int32, uint8",
      name));
}

bool is_floating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kBFloat16;
}

void throw_unsupported_dtype(const char* where, DType dtype, const char* expected) {
  throw ShapeError(fmt::format("{}: dtype is {}; expected {}", where, name_of(dtype), expected));
}

}  // namespace fovea
