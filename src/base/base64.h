// Bytes as text (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fovea {

std::string to_base64(std::string_view bytes);
/// Inverse of to_base64(); nothing for any other text.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace fovea
