#include "base/extension.h"

#include <algorithm>
#include <cctype>

namespace fovea {

std::string lower_extension(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) {
    return c < 128 ? static_cast<char>(std::tolower(c)) : '?';
  });
  return extension;
}

}  // namespace fovea
