#include "data/streams/pre_tokens.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace fovea::data {
namespace {

struct CodeRange {
  std::uint32_t low, high;
};
constexpr CodeRange kLetters[] = {
#define FOVEA_LETTERS(low, high) {low, high},
#define FOVEA_NUMBERS(low, high)
#include "data/streams/unicode_ranges.def"
#undef FOVEA_LETTERS
#undef FOVEA_NUMBERS
};
constexpr CodeRange kNumbers[] = {
#define FOVEA_LETTERS(low, high)
#define FOVEA_NUMBERS(low, high) {low, high},
#include "data/streams/unicode_ranges.def"
#undef FOVEA_LETTERS
#undef FOVEA_NUMBERS
};
// Unicode's White_Space.
constexpr CodeRange kSpaces[] = {
    {0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
    {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};

enum class Sign : std::uint8_t { kSpace, kLetter, kNumber, kOther };

template <std::size_t N>
bool within(const CodeRange (&ranges)[N], std::uint32_t code) {
  const auto* behind =
      std::upper_bound(std::begin(ranges), std::end(ranges), code,
                       [](std::uint32_t c, const CodeRange& range) { return c < range.low; });
  return behind != std::begin(ranges) && code <= std::prev(behind)->high;
}

Sign looked_up(std::uint32_t code) {
  if (within(kLetters, code)) return Sign::kLetter;
  if (within(kNumbers, code)) return Sign::kNumber;
  return within(kSpaces, code) ? Sign::kSpace : Sign::kOther;
}

Sign sign_of(std::uint32_t code) {
  static const std::array<Sign, 128> ascii = [] {
    std::array<Sign, 128> signs{};
    for (std::uint32_t c = 0; c < 128; ++c) signs[c] = looked_up(c);
    return signs;
  }();
  return code < 128 ? ascii[code] : looked_up(code);
}

// The first character of a text; bytes that are no UTF-8 are one each, and signs.
struct Character {
  Sign sign = Sign::kOther;
  std::size_t length = 0;  // 0: there is none
};

Character first_of(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {sign_of(lead), 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {Sign::kOther, 1};
  std::uint32_t code = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {Sign::kOther, 1};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[length] || code > 0x10ffff || surrogate) return {Sign::kOther, 1};
  return {sign_of(code), length};
}

// Bytes of the characters of one kind at the start of a text.
std::size_t run_of(std::string_view text, Sign sign) {
  std::size_t length = 0;
  while (true) {
    const Character next = first_of(text.substr(length));
    if (next.length == 0 || next.sign != sign) return length;
    length += next.length;
  }
}

// All white space, but for the last character where anything follows: it begins the next piece.
std::size_t space_length(std::string_view text) {
  std::size_t length = 0, last = 0;
  while (true) {
    const Character next = first_of(text.substr(length));
    if (next.length == 0) return length;
    if (next.sign != Sign::kSpace) break;
    last = next.length;
    length += next.length;
  }
  return length > last ? length - last : length;
}

}  // namespace

std::size_t pre_token_length(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  const Character first = first_of(text);
  if (first.sign != Sign::kSpace) return run_of(text, first.sign);
  if (text.front() == ' ') {
    const Character second = first_of(text.substr(1));
    if (second.length > 0 && second.sign != Sign::kSpace)
      return 1 + run_of(text.substr(1), second.sign);
  }
  return space_length(text);
}

}  // namespace fovea::data
