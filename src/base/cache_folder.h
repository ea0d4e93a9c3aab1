// Where the user's programs keep what they can make again.
#pragma once

#include <filesystem>

namespace fovea {

/// $XDG_CACHE_HOME/fovea, else ~/.cache/fovea; empty where the environment names neither.
std::filesystem::path cache_folder();

}  // namespace fovea
