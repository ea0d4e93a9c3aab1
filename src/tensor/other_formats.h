// Files of weights that are no safetensors files, by their first bytes.
#pragma once

#include <string>
#include <string_view>

namespace fovea::safetensors {

/// What such a file is and how it becomes a safetensors file: "a zip archive of PyTorch ...;
/// convert it with Python:" and three lines. Empty for bytes that are nothing known.
std::string other_format(std::string_view bytes, const std::string& file);

}  // namespace fovea::safetensors
