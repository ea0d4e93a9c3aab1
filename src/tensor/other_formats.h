// Weight files in other formats than safetensors, recognised by their first bytes.
#pragma once

#include <string>
#include <string_view>

namespace fovea::safetensors {

/// What such a file is and how it becomes a safetensors file: "a zip archive of PyTorch ...;
/// convert it with Python:" and one line of code. Empty for unknown bytes.
std::string other_format(std::string_view bytes, const std::string& file);

}  // namespace fovea::safetensors
