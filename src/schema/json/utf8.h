// Well-formed UTF-8, which JSON text must be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fovea::schema {

/// Length in bytes (1 to 4) of the character at `at`; 0 if the bytes there are not UTF-8 (overlong
/// forms, surrogates and values past U+10FFFF included).
std::size_t utf8_length(std::string_view text, std::size_t at);

bool is_utf8(std::string_view text);

/// Appends a code point that is not a surrogate.
void append_utf8(std::string& text, std::uint32_t code);

}  // namespace fovea::schema
