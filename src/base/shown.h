// Names from files and command lines as messages show them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fovea {

/// The text with its control characters as \n, \t, \x1b, and cut where it is longer than `most`
/// bytes: "blocks.0.... (400000 bytes)". A name in a file may be as long as the file.
std::string shown(std::string_view text, std::size_t most = 100);

}  // namespace fovea
