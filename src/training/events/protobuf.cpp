#include "training/events/protobuf.h"

#include <bit>

namespace fovea::training {
namespace {

enum WireType : std::uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(std::uint64_t field, WireType type) { return varint(field << 3 | type); }

}  // namespace

std::string varint_field(std::uint64_t field, std::uint64_t value) {
  return key(field, kVarint) + varint(value);
}

std::string double_field(std::uint64_t field, double value) {
  return key(field, kFixed64) + little_endian(std::bit_cast<std::uint64_t>(value));
}

std::string float_field(std::uint64_t field, float value) {
  return key(field, kFixed32) + little_endian(std::bit_cast<std::uint32_t>(value));
}

std::string bytes_field(std::uint64_t field, std::string_view value) {
  return key(field, kBytes) + varint(value.size()) + std::string(value);
}

}  // namespace fovea::training
