#include "data/files/text_decode.h"

#include <array>
#include <cstdint>

#include "schema/json/utf8.h"

namespace fovea::data {
namespace {

constexpr std::string_view kMark8 = "\xEF\xBB\xBF";
constexpr std::string_view kMarkLittle = "\xFF\xFE";
constexpr std::string_view kMarkBig = "\xFE\xFF";
constexpr std::uint32_t kReplacement = 0xFFFD;

// 0x80 to 0x9F of Windows-1252; its five holes keep their value, as in the WHATWG's table.
constexpr std::array<std::uint16_t, 32> kWindows1252 = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};

std::string from_windows1252(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() + bytes.size() / 8);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool special = byte >= 0x80 && byte < 0xA0;
    schema::append_utf8(text, special ? kWindows1252[byte - 0x80U] : byte);
  }
  return text;
}

std::string repaired_utf8(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = schema::utf8_length(bytes, at);
    if (length == 0) {
      schema::append_utf8(text, kReplacement);
      ++at;
    } else {
      text.append(bytes.substr(at, length));
      at += length;
    }
  }
  return text;
}

std::string from_utf16(std::string_view bytes, bool big) {
  const auto unit = [&](std::size_t at) -> std::uint32_t {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return big ? (first << 8U) | second : (second << 8U) | first;
  };
  std::string text;
  std::size_t at = 0;
  for (; at + 1 < bytes.size(); at += 2) {
    const std::uint32_t high = unit(at);
    if (high < 0xD800 || high > 0xDFFF) {
      schema::append_utf8(text, high);
      continue;
    }
    const std::uint32_t low = high < 0xDC00 && at + 3 < bytes.size() ? unit(at + 2) : 0;
    if (low >= 0xDC00 && low <= 0xDFFF) {
      schema::append_utf8(text, 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
      at += 2;
    } else {
      schema::append_utf8(text, kReplacement);
    }
  }
  if (at < bytes.size()) schema::append_utf8(text, kReplacement);
  return text;
}

}  // namespace

std::vector<std::pair<std::string, TextEncoding>> text_encodings() {
  return {{"auto", TextEncoding::kAuto},
          {"utf8", TextEncoding::kUtf8},
          {"latin1", TextEncoding::kLatin1},
          {"utf16", TextEncoding::kUtf16}};
}

std::string to_utf8(std::string_view bytes, TextEncoding encoding) {
  if (encoding == TextEncoding::kAuto || encoding == TextEncoding::kUtf16) {
    const bool big = bytes.starts_with(kMarkBig);
    if (big || bytes.starts_with(kMarkLittle)) return from_utf16(bytes.substr(2), big);
    if (encoding == TextEncoding::kUtf16) return from_utf16(bytes, false);
  }
  if (encoding == TextEncoding::kLatin1) return from_windows1252(bytes);
  if (bytes.starts_with(kMark8)) bytes.remove_prefix(kMark8.size());
  if (schema::is_utf8(bytes)) return std::string(bytes);
  return encoding == TextEncoding::kUtf8 ? repaired_utf8(bytes) : from_windows1252(bytes);
}

std::string without_mark(std::string bytes) {
  const bool marked =
      bytes.starts_with(kMark8) || bytes.starts_with(kMarkLittle) || bytes.starts_with(kMarkBig);
  return marked ? to_utf8(bytes, TextEncoding::kAuto) : bytes;
}

}  // namespace fovea::data
