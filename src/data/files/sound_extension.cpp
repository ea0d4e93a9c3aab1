// Names of recordings (data/files/sound_file.h), with libsndfile or without.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "data/files/sound_file.h"

namespace fovea::data {

bool has_sound_extension(const std::filesystem::path& file) {
  static constexpr std::array<const char*, 6> kEndings = {".wav",  ".flac", ".ogg",
                                                          ".aiff", ".aif",  ".au"};
  std::string ending = file.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

}  // namespace fovea::data
