// What a page carries, read back.
#pragma once

#include <zlib.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace fovea::test {

inline std::string from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    group = group << 6 | static_cast<std::uint32_t>(digits.find(c));
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 0xFF);
    }
  }
  return bytes;
}

/// Of a zlib stream in base64 that holds so many bytes.
inline std::string unpacked_bytes(const std::string& base64, std::size_t count) {
  const std::string packed = from_base64(base64);
  std::string bytes(count, '\0');
  uLongf size = bytes.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size,
                     reinterpret_cast<const Bytef*>(packed.data()), packed.size()) == Z_OK);
  REQUIRE(size == count);
  return bytes;
}

/// The JSON that the page carries.
inline nlohmann::json data_of_page(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

}  // namespace fovea::test
