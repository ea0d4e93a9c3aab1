// Names of recordings (data/files/sound_file.h), with libsndfile or without.
#include <algorithm>
#include <array>
#include <string>

#include "base/extension.h"
#include "data/files/sound_file.h"

namespace fovea::data {

bool has_sound_extension(const std::filesystem::path& file) {
  static constexpr std::array<const char*, 6> kEndings = {".wav",  ".flac", ".ogg",
                                                          ".aiff", ".aif",  ".au"};
  return std::find(kEndings.begin(), kEndings.end(), lower_extension(file)) != kEndings.end();
}

}  // namespace fovea::data
