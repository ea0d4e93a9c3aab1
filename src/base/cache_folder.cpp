#include "base/cache_folder.h"

#include <cstdlib>

namespace fovea {

std::filesystem::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache) return std::filesystem::path(cache) / "fovea";
  const char* home = std::getenv("HOME");
  if (home && *home) return std::filesystem::path(home) / ".cache" / "fovea";
  return {};
}

}  // namespace fovea
