// Bytes of a text file to UTF-8. Nothing in a file can make this fail.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea::data {

enum class TextEncoding {
  kAuto,    // a byte order mark decides; else UTF-8 if all of it is valid, else Windows-1252
  kUtf8,    // invalid bytes become U+FFFD
  kLatin1,  // read as Windows-1252, which has letters where Latin-1 has control codes
  kUtf16,   // little-endian unless a byte order mark says otherwise; halves of pairs become U+FFFD
};

/// What options call them, and what their help says.
std::vector<std::pair<std::string, TextEncoding>> text_encodings();
inline constexpr const char* kTextEncodingHelp =
    "of the files; auto: by the byte order mark, UTF-8 if valid, else Latin-1 (Windows-1252)";

/// Valid UTF-8 without a byte order mark.
std::string to_utf8(std::string_view bytes, TextEncoding encoding);

/// For lists of file names: with a byte order mark decoded to UTF-8, without one the bytes as they
/// are, since file names need not be UTF-8.
std::string without_mark(std::string bytes);

}  // namespace fovea::data
