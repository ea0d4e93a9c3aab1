#include "base/shown.h"

#include <fmt/format.h>

namespace fovea {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  std::size_t end = text.size();
  if (end > most) {
    end = most;
    while (end > 0 && continues_character(text[end])) --end;
  }
  std::string result;
  for (const char c : text.substr(0, end)) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      result += c;
    }
  }
  if (end < text.size()) result += fmt::format("... ({} bytes)", text.size());
  return result;
}

}  // namespace fovea
