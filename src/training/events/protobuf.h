// The encoding of protocol buffers, as far as event files need it: a message is its fields one
// after the other, each a key (field << 3 | wire type) and a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fovea::training {

/// The lowest byte first.
template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes += static_cast<char>((value >> (8 * i)) & 0xffu);
  return bytes;
}

std::string varint_field(std::uint64_t field, std::uint64_t value);
std::string double_field(std::uint64_t field, double value);
std::string float_field(std::uint64_t field, float value);
/// Of strings, bytes and messages.
std::string bytes_field(std::uint64_t field, std::string_view value);

}  // namespace fovea::training
