// How a file's name ends.
#pragma once

#include <filesystem>
#include <string>

namespace fovea {

/// The extension with its dot, in small letters: ".png" of "a.PNG"; empty for none. Bytes outside
/// of ASCII become '?'.
std::string lower_extension(const std::filesystem::path& file);

}  // namespace fovea
