// Numbers and marks in the bytes of a file. Nothing is checked: places lie inside.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fovea::data {

using Bytes = std::span<const std::byte>;

inline std::uint32_t byte_at(Bytes file, std::size_t i) {
  return std::to_integer<std::uint32_t>(file[i]);
}
/// Four bytes as a number, the most significant first.
inline std::uint32_t big32(Bytes file, std::size_t i) {
  return byte_at(file, i) << 24 | byte_at(file, i + 1) << 16 | byte_at(file, i + 2) << 8 |
         byte_at(file, i + 3);
}
/// The least significant first.
inline std::uint32_t little32(Bytes file, std::size_t i) {
  return byte_at(file, i + 3) << 24 | byte_at(file, i + 2) << 16 | byte_at(file, i + 1) << 8 |
         byte_at(file, i);
}
inline bool starts_with(Bytes file, std::string_view magic) {
  if (file.size() < magic.size()) return false;
  return std::equal(magic.begin(), magic.end(), file.begin(),
                    [](char c, std::byte b) { return static_cast<std::byte>(c) == b; });
}

}  // namespace fovea::data
